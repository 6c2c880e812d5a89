"""What every state store says of commands and their steps."""

from dataclasses import replace

from contracts.store_cases import BROKEN, ELSEWHERE, HERE, intent, run, wrote
from penstock.core.records import Status


def test_the_latest_runs_are_listed_newest_first_with_how_they_ended(store):
    store.journal.start_run(run(HERE))
    store.journal.end_run(HERE.run, Status.FAILED)
    store.journal.start_run(run(ELSEWHERE))

    found = store.runs.latest_runs(5)

    assert [(each.id, each.status, each.ended is None) for each in found] == sorted(
        [(HERE.run, Status.FAILED, False), (ELSEWHERE.run, Status.RUNNING, True)], reverse=True
    )
    assert store.runs.latest_runs(1) == found[:1]
    assert (found[-1].holder.host, found[-1].holder.user) in {
        (each.host, each.user) for each in (HERE, ELSEWHERE)
    }


def test_steps_of_runs_and_models_are_listed_once_with_those_that_run_and_failed(store):
    begin = store.journal.begin
    begin(intent("s-1", "a"), {}, HERE, None)
    store.journal.finish("s-1", wrote(1))
    begin(intent("s-2", "b"), {}, HERE, None)
    store.journal.fail("s-2", BROKEN)
    begin(replace(intent("s-3", "a"), run=ELSEWHERE.run), {}, ELSEWHERE, None)

    def listed(*asked):
        found = store.runs.steps_of(*asked)
        return [(each.intent.step, each.intent.model, str(each.status)) for each in found]

    first, failed = ("s-1", "a", "SUCCESS"), ("s-2", "b", "FAILED")
    assert listed([], 5, [HERE.run, "nowhere"]) == [first, failed]
    assert listed(["b", "nowhere"], 5) == [failed]
    assert listed(["a", "b"], 5, [HERE.run]) == [first, failed, ("s-3", "a", "RUNNING")]
    assert listed([], 5) == []
    assert store.runs.steps_of(["b"], 1)[0].failure == BROKEN


def test_the_latest_steps_of_models_are_listed_and_older_ones_by_their_numbers(store):
    for number in range(1, 6):
        step = f"s-{number}"
        store.journal.begin(intent(step, "ab"[number % 2]), {}, HERE, None)
        store.journal.finish(step, wrote(number))

    def listed(*asked):
        return [each.intent.step for each in store.runs.steps_of(*asked)]

    assert listed(["a", "b"], 1) == ["s-4", "s-5"]
    assert listed(["b"], 2) == ["s-3", "s-5"]
    assert listed(["a", "b"], 1, [], {1, 4}) == ["s-1", "s-4", "s-5"]
