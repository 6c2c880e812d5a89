"""Entities and session packages that another target built: cloned, they go on from where it is."""

import pytest

import penstock
from fakes.command import kill_at
from fakes.entity_files import KEY, entity
from fakes.entity_place import T1, T2, T3, EntityPlace
from fakes.session_place import S21, SessionPlace, problems
from fakes.session_world import at
from penstock.app.commands.clone import clone
from penstock.app.commands.entities import list_slices
from penstock.app.execution.recover import rebuild
from penstock.app.read_requests import CloneRequest
from penstock.app.services.wire import Where, ask, open_services

pytestmark = [pytest.mark.spark, pytest.mark.matrix]

YML = """\
name: shop
targets:
  dev: {warehouse: mine, spark: {master: "local[1]"}}
  prod: {warehouse: theirs, spark: {master: "local[1]"}}
"""
IN_WAREHOUSE = {"silver_output": "catalog"}
KINDS = ("merge", "historic")
TABLES = {
    "base_sessions_lifecycle_manifest": "session_identifier, start_tstamp, end_tstamp",
    "base_quarantined_sessions": "session_identifier",
    "page_views": "session_identifier, page_view_id",
    "sessions": "session_identifier, start_tstamp, total_events",
    "users": "user_identifier, sessions",
    "tagged": "event_id, at",
}


def cloned(place, **asked):
    request = CloneRequest(place.root, source="prod", target="dev", spark=place.spark, **asked)
    report = ask(request, clone)
    assert report.succeeded, [each.error for each in report.results]
    return report


def run(place, target, **asked):
    return penstock.run(place.root, target=target, spark=place.spark, threads=1, **asked)


def with_services(place, target, use):
    services = open_services(Where(place.root, target), place.spark)
    try:
        return use(services)
    finally:
        services.close()


def lose_state(place):
    """Lose the state of dev, and make it anew from the logs."""
    for file in (place.root / ".penstock").glob("state.db*"):
        file.unlink()
    with_services(place, "dev", rebuild)


# entities


@pytest.fixture
def lake(spark, tmp_path):
    entities = [entity(n, name, name) for n, name in enumerate(KINDS, 1)]
    place = EntityPlace(tmp_path, spark, *entities, environment=IN_WAREHOUSE)
    place.write("penstock.yml", YML)
    for kind in KINDS:
        place.slice("a", (1, 100, "A"), (2, 110, "B"), entity=kind)
        place.slice("b", (1, 200, "A2"), entity=kind)
    assert run(place, "prod", processing_time=T1).succeeded
    return place


def silver(place, warehouse, kind):
    folder = f"{place.root}/{warehouse}/silver_aw/{kind}"
    return place.sql(f"SELECT ID, SeqNr, name FROM delta.`{folder}` ORDER BY ALL")


def slices(place, target, kind):
    found = with_services(place, target, lambda s: list_slices(s, kind).slices)
    return [(each.id.name, str(each.status), each.moment, each.metrics) for each in found]


def delivered(place):
    """Deliver one more slice, and process it in dev."""
    for kind in KINDS:
        place.slice("c", (2, 300, "B3"), (3, 310, "C"), entity=kind)
    report = run(place, "dev", processing_time=T2)
    assert report.succeeded
    return [each.slice for each in report.results]


def assert_goes_on(place):
    """Assert that dev processes what is new after what prod had processed, and prod does not."""
    before = {kind: silver(place, "theirs", kind) for kind in KINDS}
    assert delivered(place) == ["c.parquet", "c.parquet"]
    assert {kind: silver(place, "theirs", kind) for kind in KINDS} == before
    run(place, "prod", processing_time=T2)
    for kind in KINDS:
        assert silver(place, "mine", kind) == silver(place, "theirs", kind)


def test_a_cloned_entity_has_the_slices_and_watermarks_of_the_other_target(lake):
    cloned(lake)

    assert run(lake, "dev").plan.is_empty
    for kind in KINDS:
        assert silver(lake, "mine", kind) == silver(lake, "theirs", kind)
        assert slices(lake, "dev", kind) == slices(lake, "prod", kind)
    assert_goes_on(lake)


def test_cloned_slices_are_found_in_the_logs_when_the_state_is_lost(lake):
    before = {kind: slices(lake, "prod", kind) for kind in KINDS}
    cloned(lake)

    lose_state(lake)

    assert [each[:3] for each in slices(lake, "dev", "merge")] == [
        each[:3] for each in before["merge"]
    ]
    assert run(lake, "dev").plan.is_empty
    assert_goes_on(lake)


@pytest.mark.parametrize("fault", ["after-begin:1", "before-commit:1", "after-commit:1"])
@pytest.mark.parametrize("then", ["clone", "run"])
def test_entities_whose_clone_was_killed_end_as_undisturbed(lake, fault, then):
    kill_at(fault, lake.root, "target", "clone", "prod", "dev", spark=lake.spark)

    if then == "clone":
        cloned(lake)
    run(lake, "dev", processing_time=T1)

    for kind in KINDS:
        assert silver(lake, "mine", kind) == silver(lake, "theirs", kind)
    assert_goes_on(lake)


@pytest.mark.parametrize("fault", ["before-commit:2", "after-finish:1", "after-commit:2"])
@pytest.mark.parametrize("then", ["clone", "run"])
def test_entities_killed_while_a_clone_replaces_them_end_as_undisturbed(lake, fault, then):
    cloned(lake)
    words = ("target", "clone", "prod", "dev", "--select", "silver_aw.historic")

    kill_at(fault, lake.root, *words, spark=lake.spark)
    if then == "clone":
        cloned(lake)
    run(lake, "dev", processing_time=T3)

    assert silver(lake, "mine", "historic") == silver(lake, "theirs", "historic")


def test_entities_of_one_table_are_cloned_together(spark, tmp_path):
    place = EntityPlace(
        tmp_path,
        spark,
        *(
            entity(
                number,
                name,
                columns=[KEY, {"name": "from", "fieldroles": ["partition"], "expression": said}],
                settings={"silver_table": "silver_aw.both"},
            )
            for number, (name, said) in enumerate((("one", "'1'"), ("two", "'2'")), 1)
        ),
        environment=IN_WAREHOUSE,
    )
    place.write("penstock.yml", YML)
    place.slice("a", (1, 100, "A"), entity="one")
    place.slice("a", (1, 100, "B"), entity="two")
    assert run(place, "prod", processing_time=T1).succeeded
    names = sorted(with_services(place, "prod", lambda s: [*s.project.models]))

    alone = ask(
        CloneRequest(place.root, source="prod", target="dev", spark=spark, select=(names[0],)),
        clone,
    )
    cloned(place)

    assert alone[names[0]].error.code == "not-cloned"
    assert run(place, "dev").plan.is_empty
    place.slice("b", (2, 200, "B2"), entity="two")
    run(place, "dev", processing_time=T2)
    assert silver(place, "mine", "both") == [(1, 100, "A"), (1, 100, "B"), (2, 200, "B2")]
    assert silver(place, "theirs", "both") == [(1, 100, "A"), (1, 100, "B")]
    cloned(place)
    assert silver(place, "mine", "both") == [(1, 100, "A"), (1, 100, "B")]


# packages


@pytest.fixture
def web(spark, tmp_path):
    place = SessionPlace(tmp_path, spark)
    place.write("penstock.yml", YML)
    place.tagged("tagged")
    place.add(*S21)
    at_time(place, "prod", "01-02 06:00")
    return place


def at_time(place, target, now, **asked):
    report = run(place, target, select=["web"], as_of=at(now), **asked)
    assert not problems(report), problems(report)
    return report


def table_of(place, warehouse, name):
    schema = {"tagged": "m"}.get(name, "derived")
    schema = f"{schema}/{'' if name == 'tagged' else 'web_'}{name}"
    return f"delta.`{place.root}/{warehouse}/{schema}`"


def package_rows(place, warehouse):
    return {
        name: place.sql(f"SELECT {columns} FROM {table_of(place, warehouse, name)} ORDER BY ALL")
        for name, columns in TABLES.items()
    }


def manifest(place, target):
    rows = with_services(place, target, lambda s: s.reading.sessions.manifest("web"))
    return [(e.model, e.last_success, e.covered_to, e.advanced_to, e.fingerprint) for e in rows]


def assert_package_goes_on(place):
    """Assert that both targets make the same of later events, and dev first."""
    place.add("e4 s2 01-02 02:00", "e5 s3 01-03 10:00")
    before = package_rows(place, "theirs")
    report = at_time(place, "dev", "01-03 12:00")
    assert package_rows(place, "theirs") == before
    expected = at_time(place, "prod", "01-03 12:00")
    assert [(e.name, e.status) for e in report.results] == [
        (e.name, e.status) for e in expected.results
    ]
    assert package_rows(place, "mine") == package_rows(place, "theirs")


def test_a_cloned_package_goes_on_from_the_manifest_of_the_other_target(web):
    cloned(web)

    assert package_rows(web, "mine") == package_rows(web, "theirs")
    assert manifest(web, "dev") == manifest(web, "prod")
    assert run(web, "dev", select=["web"], as_of=at("01-02 06:00")).plan.is_empty
    assert_package_goes_on(web)


def test_the_manifest_of_a_clone_is_found_in_the_logs_when_the_state_is_lost(web):
    cloned(web)

    lose_state(web)

    assert [each[:4] for each in manifest(web, "dev")] == [
        each[:4] for each in manifest(web, "prod")
    ]
    assert_package_goes_on(web)


@pytest.mark.parametrize("fault", ["after-commit:1", "after-begin:4", "after-commit:6"])
@pytest.mark.parametrize("then", ["clone", "run"])
def test_a_package_whose_clone_was_killed_ends_as_undisturbed(web, fault, then):
    kill_at(fault, web.root, "target", "clone", "prod", "dev", spark=web.spark)

    if then == "clone":
        cloned(web)
    at_time(web, "dev", "01-02 06:00")

    assert package_rows(web, "mine") == package_rows(web, "theirs")
    assert_package_goes_on(web)


@pytest.mark.parametrize("fault", ["before-commit:3", "after-finish:5", "after-commit:8"])
@pytest.mark.parametrize("then", ["clone", "run"])
def test_a_package_killed_while_a_clone_replaces_it_ends_as_undisturbed(web, fault, then):
    cloned(web)

    kill_at(fault, web.root, "target", "clone", "prod", "dev", spark=web.spark)
    if then == "clone":
        cloned(web)
    at_time(web, "dev", "01-02 06:00")

    assert package_rows(web, "mine") == package_rows(web, "theirs")
