"""A sync with its cascade leaves nothing to do, in order, and does nothing twice (drift.md §14)."""

import dataclasses
from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from fakes.builders import a_model
from fakes.naive_drift import Rule
from fakes.partition_world import SOURCE, World
from fakes.versioned_models import (
    DAY,
    MONTH,
    WEEK,
    a_body,
    a_daily,
    reading,
    reading_itself,
    span,
)
from penstock.core.model import Model
from penstock.core.partitions.calendar import DAY as A_DAY
from penstock.core.partitions.mapping import (
    ByGrain,
    Calendar,
    Computed,
    Everything,
    Lower,
    Moved,
    Same,
    Trailing,
    Upper,
)
from penstock.core.partitions.ranges import numbers
from penstock.core.strategy import Layout
from penstock.plan.values import Plan, Step

NAMES = ("a", "b", "c", "d", "e")
RULES = {
    Rule("same"): Same(),
    Rule("grain"): ByGrain(),
    Rule("all"): Everything(),
    Rule("trailing", 3): Trailing(3),
    Rule("week"): Calendar("week"),
    Rule("window", 2 * A_DAY): Computed("at", ((Moved(Lower(), 0, -2 * A_DAY), Upper()),)),
}
BEFORE = Rule("before", 2 * A_DAY)
"""What a model may read of itself: the two days before its partition."""
STARTS = {
    DAY: ("2024-12-05", "2024-12-10"),
    WEEK: ("2024-11-18", "2024-12-02"),
    MONTH: ("2024-10-01", "2024-12-01"),
}
THE_DAYS_BEFORE = Computed("date", ((Moved(Lower(), 0, -BEFORE.number), Lower()),))


@st.composite
def projects(draw):
    """Give models of partitions and whole tables, and how each reads those before it."""
    models, reads = [], {}
    for place, name in enumerate(NAMES[: draw(st.integers(2, len(NAMES)))]):
        above = draw(
            st.lists(st.sampled_from((SOURCE, *NAMES[:place])), min_size=1, max_size=2, unique=True)
        )
        if draw(st.integers(0, 4)) == 4:
            models.append(a_model(name, *above))
            reads[name] = dict.fromkeys(above, Rule("all"))
            continue
        reads[name] = {each: draw(st.sampled_from(list(RULES))) for each in above}
        if draw(st.integers(0, 4)) == 4:
            reads[name][name] = BEFORE
        models.append(draw(dated(name, reads[name])))
    return models, reads


@st.composite
def dated(draw, name: str, reads: dict[str, Rule]) -> Model:
    """Give a model of two versions that read the same."""
    grid = draw(st.sampled_from([DAY, DAY, WEEK, MONTH]))
    inputs = [reading(above, RULES[rule]) for above, rule in reads.items() if rule != BEFORE]
    if name in reads:
        inputs.append(reading_itself(name, THE_DAYS_BEFORE))
    takes = draw(st.booleans())
    bodies = [
        a_body(f"v{number}", since, *inputs, is_range=takes)
        for number, since in enumerate(STARTS[grid], 1)
    ]
    layout = Layout(("date",) if draw(st.booleans()) else ())
    return a_daily(name, *bodies, grid=grid, layout=layout, batch_size=draw(st.none() | st.just(2)))


DAYS = st.integers(5, 16).map(lambda day: span(f"2024-12-{day:02}", f"2024-12-{day:02}"))
EDITS = st.tuples(
    st.sampled_from(["deliver", "sql", "tamper", "fail"]), st.sampled_from(NAMES), DAYS
)


def apply(world: World, edit: str, name: str, day: tuple[int, int]) -> None:
    """Let something happen between two syncs."""
    model = world.project.models.get(name)
    if edit == "deliver":
        world.deliver(day)
    elif model is None:
        return
    elif edit == "tamper":
        world.tamper(name, day)
    elif edit == "fail":
        world.fail(name, model.grid.at(day[0]))
    else:
        world.edit(rewritten(model))


def rewritten(model: Model) -> Model:
    """Give the model with other SQL in its newest version."""
    mark = model.fingerprint
    other = dataclasses.replace(mark, canonical=f"{mark.canonical}+")
    if not model.versions:
        return dataclasses.replace(model, fingerprint=other)
    *older, newest = model.versions
    body = dataclasses.replace(newest.body, fingerprint=other)
    versions = (*older, dataclasses.replace(newest, body=body))
    return dataclasses.replace(model, versions=versions, fingerprint=other)


def carry_out(world: World, made: Plan, changing: st.DataObject) -> None:
    """Do the steps in their order."""
    assert made.blocked == ()
    for step in made.steps:
        world.do(step, changes_data=changing.draw(st.booleans()))


def twice(made: Plan) -> list[tuple[str, int]]:
    """Name the partitions that a plan has more than once."""
    found = Counter(
        (step.model, n) for step in made.steps for n in numbers(step.partitions or ((0, 0),))
    )
    return [each for each, times in found.items() if times > 1]


def too_early(world: World, made: Plan, reads: dict[str, dict[str, Rule]]) -> list[tuple[str, str]]:
    """Name the steps that may begin before a step that makes what they read has ended."""
    behind: dict[str, set[str]] = {}
    for step in made.steps:
        behind[step.key] = set(step.upstream).union(*(behind.get(key, ()) for key in step.upstream))
    return [
        (step.key, other.key)
        for step in made.steps
        for other in made.steps
        if _reads(world, step, other, reads[step.model].get(other.model))
        and other.key not in behind[step.key]
    ]


def _reads(world: World, step: Step, other: Step, rule: Rule | None) -> bool:
    if rule is None or step == other:
        return False
    below, above = (world.project.models[each.model].grid for each in (step, other))
    asked = [_asked(rule, below.span(n), above) for n in numbers(step.partitions or ((0, 0),))]
    made = [above.span(n) for n in numbers(other.partitions or ((0, 0),))]
    return any(low < end and begin < high for low, high in asked for begin, end in made)


def _asked(rule: Rule, bounds: tuple[int, int], above) -> tuple[int, int]:
    if rule == BEFORE:
        return bounds[0] - rule.number, bounds[0]
    return rule.range(bounds, above)


@given(projects(), st.lists(st.lists(EDITS, max_size=4), max_size=2), st.data())
def test_law_5_after_a_sync_with_its_cascade_everything_is_current(project, rounds, data):
    models, reads = project
    world = World(*models)

    for edits in ([], *rounds):
        for edit in edits:
            apply(world, *edit)
        made = world.plan()
        assert (twice(made), too_early(world, made, reads)) == ([], [])
        carry_out(world, made, data)

        again = world.plan()
        assert [(step.key, str(step.reason)) for step in again.steps] == []
        assert sorted(again.current) == sorted(world.project.models)


@settings(max_examples=max(75, settings().max_examples))
@given(projects(), st.lists(EDITS, max_size=4), st.sets(st.sampled_from(NAMES)), st.data())
def test_law_5_a_sync_of_some_models_leaves_nothing_of_them_and_nothing_new(
    project, edits, some, data
):
    models, reads = project
    world = World(*models)
    carry_out(world, world.plan(), data)
    for edit in edits:
        apply(world, *edit)
    before = drifted(world)
    selected = {model.name for model in models} & (some or {"a"})

    made = world.plan(selected)

    assert (twice(made), too_early(world, made, reads)) == ([], [])
    carry_out(world, made, data)
    left = drifted(world)
    assert [each for each in left if each not in before or each[0] in selected] == []


def drifted(world: World) -> list[tuple[str, int]]:
    """Name the partitions that are not as code and inputs would make them."""
    verdicts = world.verdicts()
    return [(name, n) for name in verdicts for n in numbers(verdicts[name].drifted)]


@given(projects(), st.integers(1, 9), st.data())
def test_law_5_a_limit_ends_where_one_sync_would(project, most, data):
    models, _ = project
    world = World(*models)
    everything = sum(step.count for step in world.plan().steps)
    done = 0

    while (made := world.plan(most=most)).steps:
        assert sum(step.count for step in made.steps) + made.remaining <= everything
        carry_out(world, made, data)
        done += sum(step.count for step in made.steps)

    assert done == everything
