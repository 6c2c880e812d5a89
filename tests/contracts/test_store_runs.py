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


def test_steps_of_runs_and_models_are_listed_with_those_that_run_and_failed(store):
    begin = store.journal.begin
    begin(intent("s-1", "a"), {}, HERE, None)
    store.journal.finish("s-1", wrote(1))
    begin(intent("s-2", "b"), {}, HERE, None)
    store.journal.fail("s-2", BROKEN)
    begin(replace(intent("s-3", "a"), run=ELSEWHERE.run), {}, ELSEWHERE, None)

    by_run = store.runs.steps_of_runs([HERE.run, ELSEWHERE.run, "nowhere"])
    by_model = store.runs.steps_of_models(["b", "a", "nowhere"], 5)

    shown = {
        name: [(each.intent.step, str(each.status)) for each in steps]
        for name, steps in {**by_run, **by_model}.items()
    }
    assert shown == {
        HERE.run: [("s-1", "SUCCESS"), ("s-2", "FAILED")],
        ELSEWHERE.run: [("s-3", "RUNNING")],
        "a": [("s-1", "SUCCESS"), ("s-3", "RUNNING")],
        "b": [("s-2", "FAILED")],
    }
    assert by_model["b"][0].failure == BROKEN
    assert store.runs.steps_of_runs([]) == {}


def test_the_latest_steps_of_models_are_listed_and_older_ones_by_their_numbers(store):
    for number in range(1, 6):
        step = f"s-{number}"
        store.journal.begin(intent(step, "ab"[number % 2]), {}, HERE, None)
        store.journal.finish(step, wrote(number))

    def listed(*asked):
        found = store.runs.steps_of_models(*asked)
        return {name: [each.intent.step for each in steps] for name, steps in found.items()}

    assert listed(["a", "b"], 1) == {"a": ["s-4"], "b": ["s-5"]}
    assert listed(["b"], 2) == {"b": ["s-3", "s-5"]}
    assert listed(["a", "b"], 1, {1, 4}) == {"a": ["s-4"], "b": ["s-1", "s-5"]}
