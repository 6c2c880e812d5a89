"""What every state store promises of documents and of rebuilding."""

import json
from dataclasses import replace

import pytest

from contracts.store_cases import BROKEN, HERE, intent, succeed, with_mark, wrote
from fakes.clock import NOON
from penstock.core.errors import StateError
from penstock.core.ports.ports import RebuiltStep
from penstock.core.records import Begun


def busy(store, world):
    """Leave something in every table: a success, a failure, a step that runs."""
    store.journal.begin(with_mark(7), {"sql-1": "select 'é'\n"}, HERE, None)
    world.pass_(1)
    store.journal.finish("step-1", wrote(0))
    store.journal.reject(intent("step-2", "lines"), BROKEN, HERE)
    store.journal.begin(intent("step-3", "users"), {}, HERE, None)


def test_what_was_exported_loads_into_an_equal_store(opened, store, world):
    busy(store, world)
    document = store.archive.export()
    fresh = opened(name="fresh")
    fresh.journal.reject(intent("other"), BROKEN, HERE)
    fresh.archive.load(document)

    assert fresh.archive.export() == document
    assert fresh.archive.store_id() == store.archive.store_id()
    assert fresh.records.models() == store.records.models()
    assert fresh.records.history("orders", 9) == store.records.history("orders", 9)
    assert fresh.records.texts(["sql-1"])["sql-1"] == "select 'é'\n"
    assert fresh.journal.running() == store.journal.running()
    assert fresh.leases.taken() == store.leases.taken()
    fresh.journal.finish("step-3", wrote(0))
    assert fresh.journal.begin(intent("step-4", "users"), {}, HERE, None) == Begun(4, 2)


def test_an_exported_document_is_for_people(store, world):
    busy(store, world)
    document = store.archive.export()
    read = json.loads(document)

    assert document == json.dumps(read, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
    assert (read["project"], read["target"]) == ("shop", "dev")
    assert read["tables"]["contents"] == [{"hash": "sql-1", "text": "select 'é'\n"}]


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (lambda text: text[:-9], "it is not JSON: "),
        (lambda _: "[]", "it has no 'penstock_state': it is not an exported state"),
        (lambda text: text.replace('"dev"', '"prod"'), "it belongs to target 'prod' of project"),
        (lambda text: text.replace('"penstock_state": "', '"penstock_state": "x'), "its schema is"),
        (lambda text: text.replace('"steps": [', '"steps": [1,'), "table 'steps' is not a list of"),
        (lambda text: text.replace('"kind": "build"', '"kind": "x"'), ""),
        (lambda text: text.replace('"executed_by": "', '"other": "'), ""),
    ],
)
def test_a_document_of_another_shape_changes_nothing(store, world, spoil, sentence):
    busy(store, world)
    before = store.archive.export()

    with pytest.raises(StateError) as caught:
        store.archive.load(spoil(before))

    assert caught.value.code == "state-import-invalid"
    assert caught.value.sentence.startswith(f"the document cannot be imported: {sentence}")
    assert store.archive.export() == before


def test_a_rebuilt_store_has_the_records_watermarks_and_history_of_the_lost_one(
    opened, store, world
):
    rebuilt = []
    steps = [with_mark(5, "step-1"), intent("step-2", "users"), with_mark(8, "step-3")]
    for version, step in enumerate(steps):
        begun = store.journal.begin(step, {}, HERE, None)
        ended = world.pass_(1)
        store.journal.finish(step.step, wrote(version))
        token = replace(step, step_seq=begun.step_seq)
        rebuilt.append(RebuiltStep(token, wrote(version), ended))
    fresh = opened(name="fresh")
    fresh.archive.rebuild(rebuilt)
    fresh.archive.rebuild(rebuilt)

    assert fresh.records.models() == store.records.models()
    assert fresh.records.watermark_history("orders") == store.records.watermark_history("orders")
    lost = store.records.history("orders", 9)
    assert fresh.records.history("orders", 9) == tuple(replace(e, executed_by="") for e in lost)
    assert fresh.journal.begin(intent("next"), {}, HERE, 3).step_seq == 4


def test_a_rebuilt_step_whose_number_is_taken_gets_the_next_one(store, world):
    world.pass_(60)
    succeed(store, with_mark(9, "newer"))
    newer = store.records.models()["orders"]
    old = replace(with_mark(5, "older"), step_seq=1)
    lines = replace(intent("lines", "lines"), step_seq=7)
    store.archive.rebuild([RebuiltStep(old, wrote(0), NOON), RebuiltStep(lines, wrote(0), NOON)])

    assert store.records.models()["orders"] == replace(newer, last_step_seq=8)
    assert [(row.step, row.step_seq) for row in store.records.history("orders", 9)] == [
        ("newer", 1),
        ("older", 8),
    ]
    assert store.records.models()["lines"].step_seq == 7
    assert store.journal.begin(intent("next"), {}, HERE, 8).step_seq == 9


def test_two_stores_have_two_ids(opened):
    assert opened(name="a").archive.store_id() != opened(name="b").archive.store_id()


def landed(store, step="step-1"):
    """Say of a step that its commit is in the log as version 4."""
    return RebuiltStep(replace(intent(step), step_seq=1), wrote(4), NOON)


def test_a_store_that_was_loaded_or_rebuilt_begins_a_new_epoch(store, world):
    busy(store, world)
    born = store.archive.epoch()
    store.archive.load(store.archive.export())
    loaded = store.archive.epoch()
    store.archive.rebuild([])

    assert len({born, loaded, store.archive.epoch()}) == 3


def test_a_step_is_given_the_epoch_and_a_number_above_all_that_delta_has_seen(store):
    begun = store.journal.begin(intent(), {}, HERE, None, above=7)

    assert (begun.step_seq, begun.epoch) == (8, store.archive.epoch())
    assert store.journal.running()[0].intent.epoch == begun.epoch
    assert store.journal.begin(intent("step-2"), {}, HERE, None, above=3).step_seq == 9


def test_a_step_that_was_given_up_and_has_landed_is_written_anew(store, world):
    store.journal.begin(intent(), {}, HERE, None)
    store.journal.fail("step-1", BROKEN, recovered=True)
    store.archive.rebuild([landed(store)])

    assert store.records.models()["orders"].commit_version == 4
    assert [(each.step, str(each.status)) for each in store.records.history("orders", 9)] == [
        ("step-1", "SUCCESS"),
        ("step-1/given-up", "FAILED"),
    ]


def test_a_step_that_runs_is_not_rebuilt(store):
    store.journal.begin(intent(), {}, HERE, None)
    store.archive.rebuild([landed(store)])

    assert [step.intent.step for step in store.journal.running()] == ["step-1"]
    assert "orders" not in store.records.models()


def test_commits_are_on_record_by_their_step_and_version(store, world):
    succeed(store, intent("made"), version=4)
    store.journal.reject(intent("failed", "lines"), BROKEN, HERE)
    store.journal.begin(intent("running", "users"), {}, HERE, None)

    asked = {"made": 4, "failed": 2, "running": 3, "never": 1}
    assert store.records.unrecorded(asked) == {"failed", "never"}
    assert store.records.unrecorded({"made": 5}) == {"made"}
    assert store.records.unrecorded({}) == frozenset()
