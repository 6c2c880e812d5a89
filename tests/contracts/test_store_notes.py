"""What every state store promises of noted commits: a cache of tables' logs."""

from dataclasses import replace

from contracts.store_cases import intent, succeed
from fakes.clock import NOON
from penstock.core.facts import Seen, Touched
from penstock.core.query import TemplateRows

RAW = Seen("raw.events", "table-a", 5)
FIRST = Touched(2, NOON, "WRITE", spans={"day": ((0, 5), (8, 9)), "n": None})
SECOND = Touched(4, NOON, "MERGE", step="s", store="another", user="ann")


def test_noted_commits_read_back_oldest_first(store):
    store.notes.note(RAW, [SECOND, FIRST])

    assert store.notes.touched({"raw.events": -1}).get("raw.events", ()) == (FIRST, SECOND)
    assert store.notes.touched({"raw.events": 2}).get("raw.events", ()) == (SECOND,)
    assert store.notes.touched({"raw.other": -1}).get("raw.other", ()) == ()


def test_rows_that_templates_read_are_kept_until_others_replace_them(store):
    one = TemplateRows((("n", "int"),), (("1",), (None,)))
    store.notes.keep_rows({"a": one, "b": TemplateRows(())})
    store.notes.keep_rows({"b": one})

    assert store.notes.template_rows() == {"a": one, "b": one}


def test_notes_of_many_tables_are_read_at_once(store):
    store.notes.note(RAW, [FIRST, SECOND])
    store.notes.note(Seen("raw.users", "table-b", 1), [replace(FIRST, version=1)])
    after = {"raw.events": 2, "raw.users": 0, "raw.gone": 0}

    assert store.notes.touched(after) == {
        "raw.events": (SECOND,),
        "raw.users": (replace(FIRST, version=1),),
    }
    assert store.notes.touched({}) == {}


def test_seen_says_how_far_a_log_was_read_and_the_newest_commit_of_others(store):
    store.notes.note(RAW, [FIRST, SECOND])
    store.notes.note(Seen("raw.quiet", "table-b", 0), [])

    assert store.notes.seen_tables() == {
        "raw.events": replace(RAW, foreign=4),
        "raw.quiet": Seen("raw.quiet", "table-b", 0),
    }


def test_commits_of_steps_on_record_and_of_this_store_are_not_foreign(store):
    succeed(store, intent("step-1"))
    ours = [
        replace(FIRST, version=3, step="step-1", store="the lost one"),
        replace(FIRST, version=4, step="unknown", store=store.archive.store_id()),
    ]
    store.notes.note(RAW, [FIRST, *ours])

    assert store.notes.seen_tables()["raw.events"].foreign == 2


def test_noting_more_adds_to_what_is_there(store):
    store.notes.note(RAW, [FIRST])
    store.notes.note(replace(RAW, version=7), [replace(SECOND, version=6)])

    assert store.notes.seen_tables() == {"raw.events": replace(RAW, version=7, foreign=6)}
    assert [
        commit.version for commit in store.notes.touched({"raw.events": 0}).get("raw.events", ())
    ] == [2, 6]


def test_a_commit_that_is_noted_again_is_noted_as_of_now(store):
    wider = replace(FIRST, spans={"day": None, "hour": ((1, 2),)})
    store.notes.note(RAW, [FIRST, SECOND])
    store.notes.note(replace(RAW, version=3), [wider])

    assert store.notes.touched({"raw.events": 0}).get("raw.events", ()) == (wider, SECOND)
    assert store.notes.seen_tables()["raw.events"].version == 5


def test_a_table_of_another_id_starts_anew(store):
    store.notes.note(RAW, [FIRST, SECOND])
    other = Seen("raw.events", "table-z", 1)
    store.notes.note(other, [replace(FIRST, version=1)])

    assert store.notes.seen_tables() == {"raw.events": replace(other, foreign=1)}
    assert [
        commit.version for commit in store.notes.touched({"raw.events": -1}).get("raw.events", ())
    ] == [1]


def test_notes_survive_export_and_import(opened, store):
    store.notes.note(RAW, [FIRST, SECOND])
    fresh = opened(name="fresh")
    fresh.archive.load(store.archive.export())

    assert fresh.notes.seen_tables() == store.notes.seen_tables()
    assert fresh.notes.touched({"raw.events": -1}).get("raw.events", ()) == (FIRST, SECOND)
    assert fresh.archive.export() == store.archive.export()
