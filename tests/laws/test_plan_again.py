"""Law 1: plan, run, plan again: the second plan is empty. And law 8 on the way."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from fakes.builders import a_model, a_source
from fakes.workshop import Workshop
from penstock.core.model import Fingerprint
from penstock.core.strategy import WindowSettings
from penstock.strategies.append import Append
from penstock.strategies.merge import Merge
from penstock.strategies.table import Table
from penstock.strategies.view import View

NAMES = ("a", "b", "c", "d", "e", "f")
SOURCES = ("raw.x", "raw.y")
WINDOW = WindowSettings("n")
STRATEGIES = st.sampled_from(
    [
        Table(),
        Table(overwrite_partitions=True),
        View(),
        Append(WINDOW),
        Merge(("id",), None),
        Merge(("id",), WindowSettings("n", lookback=2)),
    ]
)
CHANGES = st.integers(0, 2).map(lambda changed: {"new": changed % 2, "changed": changed // 2})
EDITS = st.one_of(
    st.tuples(st.just("deliver"), st.sampled_from(SOURCES), st.integers(2, 9)),
    st.tuples(st.just("sql"), st.sampled_from(NAMES), st.integers(0, 9)),
    st.tuples(st.just("layout"), st.sampled_from(NAMES), st.integers(0, 9)),
    st.tuples(st.just("foreign"), st.sampled_from(NAMES), st.just(0)),
    st.tuples(st.just("optimize"), st.sampled_from(NAMES), st.just(0)),
    st.tuples(st.just("drop"), st.sampled_from(NAMES), st.just(0)),
)


@st.composite
def projects(draw):
    """Give models of which each may read sources and any model before it."""
    models = []
    for place, name in enumerate(NAMES[: draw(st.integers(1, len(NAMES)))]):
        read = draw(st.lists(st.sampled_from((*SOURCES, *NAMES[:place])), max_size=3, unique=True))
        strategy = draw(STRATEGIES)
        windowed = getattr(strategy, "window", None) is not None
        if windowed:  # a window needs an input with the column `n`
            read = sorted({*read, SOURCES[0]})
        models.append(a_model(name, *read, strategy=strategy))
    return models


@settings(max_examples=10 if settings.default.derandomize else 300)
@given(projects(), st.lists(st.tuples(st.lists(EDITS, max_size=4), CHANGES), max_size=4))
def test_after_a_run_there_is_nothing_left_to_plan(models, rounds):
    workshop = Workshop(a_source("x"), a_source("y"), *models)

    assert workshop.run().succeeded
    assert workshop.plan().plan.is_empty
    for edits, changes in rounds:
        workshop.lake.answers("AS `changed`", changes)
        for edit in edits:
            apply(workshop, *edit)
        shown = workshop.plan().plan
        report = workshop.run()

        assert [s.model for s in report.plan.steps] == [s.model for s in shown.steps]
        assert report.succeeded, [result.error for result in report.values() if result.error]
        assert workshop.plan().plan.is_empty


def apply(workshop, edit, name, number):
    if edit == "deliver":
        path = workshop.project.sources[name].path
        workshop.lake.land(path, n=str(number))
        return
    model = workshop.project.models.get(name)
    if model is None:
        return
    table = workshop.lake.tables.get(workshop.uri(name))
    mark = model.fingerprint
    if edit == "sql":
        changed = Fingerprint(f"sql-{number}", f"meaning-{number // 2}", "", mark.layout)
        workshop.has(replace(model, fingerprint=changed))
    elif edit == "layout":
        told = replace(mark, layout=f"layout-{number}")
        workshop.has(replace(model, fingerprint=told, description=f"Table {number}"))
    elif table is not None and edit == "foreign":
        workshop.lake.write(workshop.uri(name), "DELETE", None, "")
    elif table is not None and edit == "optimize":
        workshop.lake.write(workshop.uri(name), "OPTIMIZE", None, "")
    elif table is not None and edit == "drop":
        del workshop.lake.tables[workshop.uri(name)]
