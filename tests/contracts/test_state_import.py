"""`state import` looks at the whole document and says all that is wrong with it."""

import json

import pytest

from contracts.store_cases import BROKEN, DAY, HERE, OURS, days, failed_gate, succeed, with_mark
from contracts.store_cases import check as checked
from penstock.core.errors import StateError


@pytest.fixture
def store(store):
    store.journal.begin(with_mark(7), {"sql-1": "select 1"}, HERE, None)
    store.journal.reject(days("step-2", "lines", (1, 2)), BROKEN, HERE)
    checked(store, days("step-3", "lines", (1, 2)), failed_gate(DAY.key(2)))
    succeed(store, with_mark(8, "step-4"))
    return store


def refused(store, spoil):
    """Give what is said of an exported document that was spoilt; the store stays as it was."""
    before = store.archive.export()
    document = json.loads(before)
    spoil(document["tables"])
    with pytest.raises(StateError) as caught:
        store.archive.load(json.dumps(document))
    assert caught.value.code == "state-import-invalid"
    assert store.archive.export() == before
    return caught.value.sentence.removeprefix("the document cannot be imported: ")


def put(table, number, value, *place):
    def spoil(tables):
        inside = tables[table][number]
        for name in place[:-1]:
            inside = inside[name]
        inside[place[-1]] = value

    return spoil


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (
            put("steps", 0, "DONE", "status"),
            'steps[0].status: is "DONE", expected one of RUNNING, SUCCESS, FAILED, SKIPPED',
        ),
        (
            put("steps", 0, None, "intent", "fingerprints"),
            "steps[0].intent.fingerprints: is null, expected an object",
        ),
        (
            put("steps", 0, 7, "intent", "fingerprints", "sql"),
            "steps[0].intent.fingerprints.sql: is 7, expected text",
        ),
        (
            put("steps", 1, "seven", "intent", "base_version"),
            'steps[1].intent.base_version: is "seven", expected a whole number or null',
        ),
        (put("steps", 0, 99, "model_id"), "steps[0].model_id: 99 is in no row of models"),
        (put("steps", 1, 1, "step_seq"), "steps[1].step_seq: 1 is there twice"),
        (put("steps", 0, True, "step_seq"), "steps[0].step_seq: is true, expected a whole number"),
        (
            put("runs", 0, "2024-03-01 12:00:00", "started"),
            'runs[0].started: is "2024-03-01 12:00:00", expected a time with its zone',
        ),
        (put("steps", 0, None, "target"), "steps[0].target: is empty"),
        (
            put("steps", 2, {"mode": "x"}, "checked"),
            'steps[2].checked.mode: is "x", expected one of flag, block, rollback',
        ),
        (
            put("watermarks", 0, "BIGINT soon", "value"),
            "watermarks[0].value: is \"BIGINT soon\": 'soon' is not a BIGINT",
        ),
        (put("steps", 0, "a", "slice"), 'steps[0].slice: is "a", which is not the intent\'s'),
        (put("steps", 0, "\ud800", "intent", "reason"), "expected text in Unicode"),
        (put("models", 0, "\ud800", "name"), 'models[0].name: is "\\ud800", expected text'),
        (lambda tables: tables["flags"].append(tables["flags"][0]), "flags[1]: its key [3, 2]"),
        (lambda tables: tables.pop("leases"), "table 'leases' is missing"),
        (lambda tables: tables.pop("models"), "table 'models' is missing"),
        (lambda tables: tables.update(more=[]), "table 'more' is none of a state's"),
        (put("project", 0, "bakery", "name"), "project[0].name: is 'bakery', expected 'shop'"),
        (
            put("steps", 2, [["a", "b"]], "checked", "failed"),
            'steps[2].checked.failed[0][0]: is "a", expected a whole number',
        ),
        (lambda tables: tables["project"].clear(), "'project' has 0 rows, expected 1"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(store, spoil, said):
    assert said in refused(store, spoil)


def test_all_that_is_wrong_is_said_at_once(store):
    def spoil(tables):
        put("steps", 0, "DONE", "status")(tables)
        put("steps", 1, "x", "kind")(tables)
        put("runs", 0, 5, "host")(tables)

    assert refused(store, spoil).splitlines() == [
        "",
        "  runs[0].host: is 5, expected text",
        '  steps[0].status: is "DONE", expected one of RUNNING, SUCCESS, FAILED, SKIPPED',
        (
            '  steps[1].kind: is "x", expected one of '
            "build, alter, seed, create, rewrite, rollback, accept"
        ),
    ]


def test_a_document_without_end_of_mistakes_is_told_of_twenty(store):
    def spoil(tables):
        tables["runs"] = [{"id": "x" * 9000}] * 500

    said = refused(store, spoil)

    assert len(said.splitlines()) == 22
    assert said.endswith("\n  and there may be more")
    assert len(said) < 9000


def test_a_document_that_is_nested_without_end_is_refused(store):
    with pytest.raises(StateError) as caught:
        store.archive.load("[" * 100_000)

    assert caught.value.code == "state-import-invalid"
    assert OURS.project not in caught.value.sentence
