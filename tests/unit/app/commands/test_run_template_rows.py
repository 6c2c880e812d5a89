"""Models whose templates read rows: a run reads them at its pins, and plans again with others."""

from dataclasses import replace

import pytest

from fakes.builders import a_model, a_source
from fakes.requests import a_run
from fakes.workshop import Workshop
from penstock.app.commands.run import run
from penstock.app.events import Said
from penstock.core.beside.hooks import Hook, Hooks
from penstock.core.errors import QueryError, project_error
from penstock.core.findings import Finding, Location
from penstock.core.names import InputKind, InputName
from penstock.core.ports.engine import QueryResult
from penstock.core.query import TemplateQuery, TemplateRows, mention
from penstock.strategies.view import View

EVENTS = InputName(InputKind.SOURCE, "raw.events")
ASKED = TemplateQuery("key", f"select max(n) as n from {mention(EVENTS)}", (EVENTS,), 7)
AGAIN = "planned again with the rows that templates read: "


class Place:
    """A project whose model `m` reads rows: those of `answers`, and at last its last one."""

    def __init__(self, *answers, reads=ASKED):
        self.answers, self.queries, self.messages = list(answers), [], []
        model = a_model("m", "raw.events")
        self.model = replace(model, query=replace(model.query, reads=(reads,)))
        self.workshop = Workshop(a_source("events"), self.model, a_model("top", "m"))

    def query(self, relations, sql, limit):
        self.queries.append((sql, [str(each.read) for each in relations]))
        if sql.startswith("select bad"):
            raise QueryError("query-failed", "no such column")
        rows = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        texts = tuple((str(each),) for each in rows)
        return QueryResult(("n",), texts[:limit], len(texts) > limit, ("int",))

    def load(self):
        """Load the project as the next command would: its text holds the rows in the state."""
        rows = self.workshop.store.notes.template_rows()
        text = str(rows["key"].rows) if rows else "unknown"
        made = replace(self.model.fingerprint, sql=text, canonical=text)
        self.workshop.has(replace(self.model, fingerprint=made))
        return replace(self.workshop.project, template_rows=rows)

    def services(self):
        services = self.workshop.services()
        services.project, services.reload = self.load(), self.load
        services.engine.query = self.query
        return services

    def run(self, *select, **asked):
        self.workshop.clock.advance(seconds=1)
        return run(self.services(), a_run(select, **asked), self.hear)

    def hear(self, event):
        if isinstance(event, Said):
            self.messages.append(event.text)

    def kept(self):
        return self.workshop.store.notes.template_rows()


def test_a_first_run_reads_the_rows_and_builds_the_text_that_they_make():
    place = Place(["4"])

    report = place.run()

    assert [(each.name, each.status) for each in report.results] == [
        ("m", "success"),
        ("top", "success"),
    ]
    assert place.messages == [AGAIN + "m, top"]
    assert place.kept() == {"key": TemplateRows((("n", "int"),), (("4",),))}
    assert place.workshop.operations("m") == ["CREATE OR REPLACE TABLE AS SELECT"]
    assert place.workshop.records()["m"].fingerprint.sql == "(('4',),)"


def test_the_next_run_has_nothing_to_do_and_reads_nothing():
    place = Place(["4"])
    place.run()
    place.queries.clear()

    report = place.run()

    assert [each.status for each in report.results] == ["unchanged", "unchanged"]
    assert place.queries == []


def test_equal_rows_of_a_new_version_need_no_second_plan():
    place = Place(["4"])
    place.run()
    place.messages.clear()
    place.workshop.lake.land("/landing/events", n="2")

    report = place.run()

    assert report["m"].status == "success"
    assert place.messages == []


def test_other_rows_are_planned_again_and_read_once_for_each_version():
    place = Place(["4"], ["5"])
    place.run()
    place.queries.clear()
    place.workshop.lake.land("/landing/events", n="2")

    report = place.run()

    assert report["m"].status == "success"
    assert len(place.queries) == 1
    assert place.workshop.records()["m"].fingerprint.sql == "(('5',),)"


def test_rows_without_an_order_are_kept_in_one():
    place = Place(["b", "a"])
    place.run()

    assert place.kept()["key"].rows == (("a",), ("b",))


def test_rows_with_an_order_are_kept_in_theirs():
    place = Place(["b", "a"], reads=replace(ASKED, is_ordered=True))
    place.run()

    assert place.kept()["key"].rows == (("b",), ("a",))


def test_a_template_that_asks_for_more_with_each_answer_fails_in_the_end():
    place = Place(["4"])
    first = place.model

    def load():
        asked = replace(ASKED, key=f"key{len(place.kept())}")
        place.model = replace(first, query=replace(first.query, reads=(asked,)))
        place.workshop.has(place.model)
        return replace(place.workshop.project, template_rows=place.kept())

    place.load = load
    report = place.run()

    assert report["m"].error.render().partition("\n")[0] == (
        "error: template-reads-too-often: the template of m asks for more rows with each answer"
    )
    assert report["top"].status == "skipped"
    assert len(place.queries) == 11
    assert "m" not in place.workshop.records()


def test_too_many_rows_fail_the_step_at_the_line_of_the_query():
    place = Place(range(10_001))

    report = place.run()

    assert report["m"].error.render() == (
        "models/m.sql:7: template-reads-too-much: the template reads more than 10,000 rows\n"
        "  hint: aggregate them in its query, or write it as a join of the model"
    )


def test_a_query_that_fails_has_the_line_of_its_template():
    place = Place(["4"], reads=replace(ASKED, text=f"select bad from {mention(EVENTS)}"))

    report = place.run()

    assert report["m"].error.where == Location("models/m.sql", 7)
    assert report["top"].status == "skipped"


def test_rows_that_break_the_project_fail_what_was_to_be_planned_again():
    place = Place(["4"])
    finding = Finding(Location("models/m.sql"), "not-a-query", "a model is one query")

    def broken():
        raise project_error((finding,))

    services = place.services()
    services.reload = broken
    report = run(services, a_run(()))

    assert [(each.name, each.status) for each in report.results] == [
        ("m", "failed"),
        ("top", "failed"),
    ]
    assert [f.code for f in report["m"].error.findings] == ["not-a-query"]


def test_a_run_that_stops_at_the_first_failure_plans_nothing_again():
    place = Place(["4"])
    bad = replace(ASKED, key="bad", text=f"select bad from {mention(EVENTS)}")
    model = a_model("a", "raw.events")
    place.workshop.has(replace(model, query=replace(model.query, reads=(bad,))))

    report = place.run(fail_fast=True)

    assert report["a"].status == "failed"
    assert place.messages == []
    assert report.left == ("a", "m", "top")


@pytest.mark.parametrize("full", [False, True])
def test_a_full_refresh_builds_each_model_once(full):
    place = Place(["4"], ["5"])
    place.run()
    place.workshop.lake.land("/landing/events", n="2")
    before = len(place.workshop.operations("top"))

    place.run(full_refresh=full)

    assert len(place.workshop.operations("top")) == before + 1


def test_rows_that_a_run_kept_before_it_died_are_in_the_text_of_the_next():
    place = Place(["4"])
    place.run()
    place.workshop.store.notes.keep_rows({"key": TemplateRows((("n", "int"),), (("5",),))})
    place.answers = [["5"]]
    place.messages.clear()

    report = place.run()

    assert report["m"].status == "success"
    assert place.messages == []
    assert place.workshop.records()["m"].fingerprint.sql == "(('5',),)"


def test_rows_that_the_state_has_lost_are_read_again_and_rebuild_nothing():
    place = Place(["4"])
    place.run()
    place.kept = dict
    before = place.workshop.operations("m")
    load, lost = place.load, [True]

    def loaded():
        project = load()
        if lost.pop() if lost else False:
            made = replace(place.model.fingerprint, sql="unknown", canonical="unknown")
            place.workshop.has(replace(place.model, fingerprint=made))
            return replace(place.workshop.project, template_rows={})
        return project

    place.load = loaded
    report = place.run()

    assert [each.status for each in report.results] == ["unchanged", "unchanged"]
    assert place.workshop.operations("m") == before


def test_rows_that_break_a_template_fail_its_step_until_others_come():
    place = Place([], ["4"])
    where, load = Location("models/m.sql", 2), place.load
    broken = Finding(where, "not-a-query", "with its rows: there is no query", "write one")

    def loaded():
        rows = place.kept()
        waits = "key" not in rows or not rows["key"].rows
        place.model = replace(place.model, query=replace(place.model.query, waits=waits))
        return replace(load(), refused_rows={"models/m.sql": broken} if waits and rows else {})

    place.load = loaded
    first = place.run()
    place.workshop.lake.land("/landing/events", n="2")
    second = place.run()

    assert [(each.name, each.status) for each in first.results] == [
        ("m", "failed"),
        ("top", "skipped"),
    ]
    assert first["m"].error.render() == (
        "models/m.sql:2: not-a-query: with its rows: there is no query\n  hint: write one"
    )
    assert place.workshop.records()["m"].fingerprint.sql == "(('4',),)"
    assert second.exit_code == 0


def test_a_template_that_asks_for_a_column_that_is_not_there_fails_its_step():
    place = Place(["4"])
    place.model = replace(place.model, query=replace(place.model.query, waits=True))

    report = place.run()

    assert report["m"].error.render() == (
        "models/m.sql:1: template-rows-unknown: the template of m asks for a column that its "
        "table lacks\n  hint: build the table first, or correct its columns in YAML"
    )


def read_through_a_view(*answers):
    """A model over a view whose template reads rows, and the place where both are."""
    place = Place(*answers)
    place.model = replace(place.model, strategy=View())
    return place


def test_a_model_alone_takes_the_text_that_the_rows_of_its_view_make():
    place = read_through_a_view(["4"], ["5"])
    place.run()
    place.workshop.lake.land("/landing/events", n="2")
    place.workshop.lake.ran.clear()
    place.messages.clear()

    report = place.run("top")

    assert [(each.name, each.status) for each in report.results] == [("top", "success")]
    assert place.messages == [AGAIN + "top"]
    assert place.kept()["key"].rows == (("5",),)


SET, WRITE = "set spark.sql.ansi.enabled = false", "insert into audit.log values (1)"


def test_hooks_before_a_model_that_is_planned_again_run_once():
    place = Place(["4"])
    where = Location("models/m.sql", 1)
    hooks = Hooks(tuple(Hook(text, text, where) for text in (SET, WRITE)))
    place.model = replace(place.model, hooks=hooks)

    report = place.run()

    assert place.messages == [AGAIN + "m, top"]
    ran = [sql for _, word, sql in place.workshop.lake.ran if word == "rows"]
    assert [sql for sql in ran if sql in (SET, WRITE)] == [SET, WRITE, SET]
    assert [each.text for each in report.hooks] == [SET, WRITE, SET]
