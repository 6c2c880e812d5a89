"""A seed as a step: what differs from its table, how its file is read, what its commit says."""

from dataclasses import replace

import pytest

from fakes.builders import NOON, a_model, a_project, countries
from fakes.engine import RecordingEngine
from fakes.log import FakeLog
from fakes.services import ME, a_shop
from penstock.app.execution.seed_step import (
    define_seed,
    load_seed,
    observe_seed,
    seed_model,
    seed_reason,
    seeds_to_load,
)
from penstock.app.observation.observe import ObservedTables
from penstock.app.preparing.run_context import Context
from penstock.core.columns.schema import Column, Schema
from penstock.core.errors import PenstockError, TableError
from penstock.core.facts import LogCommit
from penstock.core.model import ColumnDoc
from penstock.core.names import TableName
from penstock.core.steps.step import StepKind
from penstock.plan.values import Now, Reason, State
from penstock.strategies.view import View

URI = "/w/s/countries"
SEED = countries(ColumnDoc("ZIP", type="STRING"), ColumnDoc("code", "the code of a country"))
READ = Schema((Column("code", "string"), Column("zip", "int")))
VIEWS = ("penstock_seed_raw", "penstock_seed_typed", "penstock_query")
NEVER = Reason(State.NEVER_RUN)
FOREIGN = LogCommit(0, NOON, "WRITE", changes_data=True)
SIGNED = '{"penstock": "1", "store": "store-2", "project": "billing", "step": "x"}'
THEIRS = replace(FOREIGN, step="x", token=SIGNED, store="store-2")


class Shop:
    """A project with a seed, and models that read it: one of them through a view."""

    def __init__(self) -> None:
        named = a_model("named", "countries", strategy=View())
        models = named, a_model("codes", "named"), a_model("apart")
        self.log = FakeLog()
        project = replace(a_project(*models), seeds={"countries": SEED})
        self.services = a_shop(project, self.log)
        self.engine = RecordingEngine(self.log, dict.fromkeys(VIEWS, READ))
        self.services.engine = self.engine

    @property
    def records(self):
        return dict(self.services.reading.records.models())

    def load(self, seed=SEED, reason=NEVER):
        view = ObservedTables(Now(NOON, {}, {}))
        context = Context(ME, NOON, self.services.project, view, self.records, triggered_by="seed")
        return load_seed(self.services, context, seed, reason)

    def reason(self, seed=SEED):
        return str(seed_reason(self.services, seed, self.records, NOON))

    def told(self, seed=SEED, names=("named", "codes", "apart")):
        project = replace(self.services.project, seeds={"countries": seed})
        return seeds_to_load(self.services, project, names, self.records, NOON)


@pytest.fixture
def shop():
    return Shop()


def damaged(_self, _uri, hint=None):
    raise OSError("a disk fails")


@pytest.mark.parametrize(
    ("changes", "reason", "is_told"),
    [
        ({}, "current", False),
        ({"digest": "d2"}, "source_changed: countries.csv changed", True),
        ({"columns": ()}, "source_changed: its settings changed", True),
        ({"table": TableName("s", "lands")}, "missing: the table is gone", True),
    ],
)
def test_a_seed_drifts_with_its_file_and_types_and_its_readers_are_told(
    shop, changes, reason, is_told
):
    shop.load()
    seed = replace(SEED, **changes)
    line = (f"countries: {reason}; penstock seed loads it",)

    assert shop.reason(seed) == reason
    assert shop.told(seed) == ({"named": line, "codes": line} if is_told else {})


def test_a_seed_that_was_never_loaded_or_cannot_be_read_is_left_to_its_readers(shop, monkeypatch):
    assert (shop.reason(), shop.told()) == ("never_run", {})

    monkeypatch.setattr(FakeLog, "head", damaged)

    assert shop.reason().startswith("unreadable: ")
    assert shop.told() == {}
    with pytest.raises(TableError, match="a disk fails"):
        observe_seed(shop.services, seed_model(SEED), None)


def test_a_project_without_seeds_has_none_to_load(shop):
    project = replace(shop.services.project, seeds={})

    assert seeds_to_load(shop.services, project, ["named"], {}, NOON) == {}


def test_a_seed_is_made_in_one_commit_over_the_version_that_it_found(shop):
    first, second = shop.load(), shop.load(reason=Reason(State.SOURCE_CHANGED))

    told = [
        (e.intent.reason, e.intent.base_version, e.intent.kind, e.outcome.version)
        for e in (first, second)
    ]
    assert told == [
        ("never_run", None, StepKind.SEED, 0),
        ("source_changed", 0, StepKind.SEED, 1),
    ]
    assert (second.intent.uri, second.intent.triggered_by) == (URI, "seed")
    assert second.intent.fingerprint == seed_model(SEED).fingerprint


@pytest.mark.parametrize(
    ("commit", "reason", "code"),
    [
        (FOREIGN, Reason(State.FOREIGN_TABLE), "foreign-table"),
        (FOREIGN, Reason(State.TAMPERED, also=(State.FOREIGN_TABLE,)), "foreign-table"),
        (THEIRS, NEVER, "table-of-another-store"),
    ],
)
def test_a_table_of_others_is_not_replaced(shop, commit, reason, code):
    shop.log.tables = {URI: (commit,)}

    with pytest.raises(PenstockError) as refused:
        shop.load(reason=reason)

    assert refused.value.code == code
    assert shop.engine.asked == []


@pytest.mark.parametrize(("catalog", "has_place"), [("", False), ("main", True)])
def test_only_a_catalog_is_told_where_the_table_lies(shop, catalog, has_place):
    target = replace(shop.services.project.target, catalog=catalog)
    shop.services.project = replace(shop.services.project, target=target)

    shop.load()

    assert (f"LOCATION '{URI}'" in shop.engine.asked[-1]) is has_place


def test_csv_is_read_as_text_and_as_types_in_any_case_of_letters(shop):
    options = {"header": "true", "escape": '"', "multiLine": "true"}

    define_seed(shop.engine, SEED)

    assert [(r.view, r.read.options, r.read.columns) for r in shop.engine.bound] == [
        ("penstock_seed_raw", options, ()),
        ("penstock_seed_typed", {**options, "inferSchema": "true"}, ()),
    ]
    assert shop.engine.asked == [
        (
            "SELECT CAST(`code` AS string) AS `code`, CAST(`zip` AS STRING) AS `zip` "
            "FROM `penstock_seed_raw`"
        )
    ]


def test_other_files_are_read_once_with_the_types_that_are_declared(shop):
    schema = define_seed(shop.engine, replace(SEED, format="json"))

    (read,) = shop.engine.bound
    assert (read.view, read.read.root, read.read.files) == (
        "penstock_query",
        "/shop/seeds",
        ("/shop/seeds/countries.csv",),
    )
    assert (read.read.columns, read.read.options) == ((("ZIP", "STRING"),), {})
    assert (schema, shop.engine.asked) == (READ, [])


@pytest.mark.parametrize(
    ("columns", "sentence", "hint"),
    [
        ((), "countries.csv has no columns", "write its header into the first line"),
        (
            tuple(Column(f"c{n}", "int") for n in range(22)),
            "countries.csv has no column 'ZIP'",
            "its columns are: " + ", ".join(f"c{n}" for n in range(20)),
        ),
    ],
)
def test_a_file_without_columns_or_the_declared_ones_is_refused(shop, columns, sentence, hint):
    shop.engine.schemas = dict.fromkeys(VIEWS, Schema(columns))

    with pytest.raises(TableError) as refused:
        define_seed(shop.engine, SEED)

    assert (refused.value.sentence, refused.value.hint) == (sentence, hint)
