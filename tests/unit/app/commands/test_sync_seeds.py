"""Commands over models that read a seed, before it was ever loaded."""

import pytest

from fakes.seed_place import seed_place
from penstock.app.commands.show import graph
from penstock.app.commands.sync import preview_sync
from penstock.app.planning.make_plan import make_plan
from penstock.app.request import BackfillRequest, ModelsRequest, RunRequest


@pytest.fixture
def place(tmp_path):
    return seed_place(tmp_path)


def blocked(plan):
    return [(each.model, each.error.code, each.error.hint) for each in plan.blocked]


NOT_LOADED = [
    ("daily", "seed-not-loaded", "run: penstock seed"),
    ("named", "seed-not-loaded", "run: penstock seed"),
]


def test_a_sync_over_a_seed_that_was_never_loaded_says_how_to_load_it(place):
    report = place.preview()

    assert blocked(report.plan) == NOT_LOADED
    assert report.preview.lines == ()


def test_a_cascade_and_a_selection_with_all_above_pass_over_a_seed(place):
    cascaded = place.preview(cascade=True)
    above = place.preview("+weekly", "+codes +weekly", cascade=True)

    assert blocked(cascaded.plan) == NOT_LOADED
    assert blocked(above.plan) == NOT_LOADED[:1]


def test_a_backfill_over_a_seed_is_planned_as_a_sync_is(place):
    request = BackfillRequest(".", "daily", from_="2024-01-02", to="2024-01-02", dry_run=True)

    report = place.with_shop(lambda services: preview_sync(services, request).report)

    assert blocked(report.plan) == NOT_LOADED[:1]


def test_a_sync_of_one_model_names_drifted_models_above_it_and_no_seed(place):
    assert place.preview("codes").preview.lines == (
        "not selected, though drifted, and read here: named",
    )
    assert place.preview("daily").preview.lines == ()


def test_looking_at_models_over_a_seed_starts_nothing_and_fails_nowhere(place):
    planned = place.with_shop(lambda services: make_plan(services, RunRequest()))
    drawn = place.with_shop(lambda services: graph(services, ModelsRequest()))

    assert blocked(planned.plan) == NOT_LOADED
    assert planned.notes == ("daily: 2 other partitions drifted; penstock sync runs them",)
    assert ("shop.countries", "m.daily") in drawn.edges
    assert place.states()["daily"] == ["never_run 2024-01-01..2024-01-03"]
    assert place.diff().models == ()
    assert {row.model for row in place.audit().rows} == {"codes", "daily", "named", "weekly"}
