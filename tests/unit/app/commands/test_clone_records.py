"""What clones of entities and session packages record, on real logs and without a JVM."""

import datetime as dt

import pytest

from fakes.clone_engine import CloneEngine, build
from fakes.entity_files import entity
from fakes.entity_place import EntityPlace
from fakes.session_place import SessionPlace
from penstock.app.commands.clone import clone
from penstock.app.execution.recover import rebuild, recover
from penstock.app.planning.make_plan import make_plan
from penstock.app.read_requests import CloneRequest
from penstock.app.request import RunRequest
from penstock.app.services.wire import Where, open_services
from penstock.core.columns.typed import TypedValue
from penstock.core.ports.sessions import PassEnd, SessionPass
from penstock.core.records import SliceSkip, Status
from penstock.core.sessions.manifest import Limits, ManifestRow, PassKind, RunState, SessionPromise
from penstock.core.steps.inputs import DeltaPin
from penstock.core.steps.window import Watermark
from penstock.project.entities.places import bronze_folder

YML = """\
name: shop
targets:
  dev: {warehouse: mine}
  prod: {warehouse: theirs}
"""
T1 = dt.datetime(2025, 5, 5, 10, tzinfo=dt.UTC)
X = "silver_aw.x"
SEQ = Watermark("bronze", "SeqNr", TypedValue("INT", "200"))


class Killed(BaseException):
    """What nothing catches."""


def opened(place, target):
    return open_services(Where(place.root, target, reads="prod" if target == "dev" else ""))


def cloned(place, *select, fault=""):
    services = opened(place, "dev")
    services.engine = CloneEngine(services)
    if fault:
        services.fault = strike(fault)
    asked = CloneRequest(place.root, source="prod", target="dev", select=select)
    try:
        return clone(services, asked)
    finally:
        services.close()


def strike(fault):
    point, _, number = fault.partition(":")
    left = [int(number)]

    def reached(name):
        left[0] -= name == point
        if name == point and not left[0]:
            raise Killed

    return reached


def killed(place, fault, *select):
    """Clone until a point is reached; then nobody holds what was leased."""
    with pytest.raises(Killed):
        cloned(place, *select, fault=fault)
    services = opened(place, "dev")
    for lease in services.writing.leases.taken():
        services.writing.leases.unlock(lease.target)
    recover(services)
    services.close()


def lose_state(place):
    for file in (place.root / ".penstock").glob("state.db*"):
        file.unlink()
    services = opened(place, "dev")
    rebuild(services)
    services.close()


# entities


@pytest.fixture
def lake(tmp_path):
    place = EntityPlace(tmp_path, None, entity(), environment={"silver_output": "catalog"})
    place.write("penstock.yml", YML)
    for name in "abcd":
        place.slice(name, (1, 100, name))
    services = opened(place, "prod")
    folder = bronze_folder(services.project.models[X].entity, T1)
    a, b, *_ = (each.id for each in services.log.slices(folder))
    build(services, "run-1", X, slice=a, run_timestamp=T1)
    build(services, "run-1", X, slice=b, run_timestamp=T1, watermarks=(SEQ,))
    skip = SliceSkip(X, "c.parquet", skips=True, why="broken", who="ann@host-a", at=T1)
    services.writing.slices.skip(skip)
    services.close()
    return place


def slices(place, target):
    services = opened(place, target)
    found = services.reading.slices.recorded(X)
    services.close()
    return [(each.id, each.status, each.moment, each.why) for each in found]


def planned_slices(place):
    services = opened(place, "dev")
    steps = make_plan(services, RunRequest(place.root)).plan.steps
    services.close()
    return [each.work.slice.id.name for each in steps]


def test_a_cloned_entity_goes_on_after_the_slices_of_the_other_target(lake):
    report = cloned(lake)

    assert [(each.name, each.status) for each in report.results] == [(X, "success")]
    assert slices(lake, "dev") == slices(lake, "prod")
    assert planned_slices(lake) == ["d.parquet"]
    services = opened(lake, "dev")
    record = services.reading.records.models()[X]
    services.close()
    assert (record.watermarks, record.high_time) == ((SEQ,), T1)


def test_the_slices_of_a_clone_come_back_from_the_logs_of_both_tables(lake):
    cloned(lake)

    lose_state(lake)

    found = slices(lake, "dev")
    assert [each[0].name for each in found] == ["a.parquet", "b.parquet"]
    assert found == slices(lake, "prod")[:2]


@pytest.mark.parametrize("fault", ["after-begin:1", "before-commit:1", "after-commit:1"])
def test_a_killed_clone_of_an_entity_is_whole_or_nothing(lake, fault):
    killed(lake, fault)

    is_made = fault == "after-commit:1"
    assert planned_slices(lake) == (
        ["d.parquet"] if is_made else ["a.parquet", "b.parquet", "d.parquet"]
    )
    assert cloned(lake).succeeded
    assert planned_slices(lake) == ["d.parquet"]


def test_an_entity_that_was_emptied_for_a_clone_has_no_slices(lake):
    cloned(lake)

    killed(lake, "before-commit:2")

    assert planned_slices(lake) == ["a.parquet", "b.parquet", "d.parquet"]
    assert cloned(lake).succeeded
    assert planned_slices(lake) == ["d.parquet"]


def test_what_is_skipped_here_alone_is_not_skipped_after_a_clone(lake):
    services = opened(lake, "dev")
    skip = SliceSkip(X, "d.parquet", skips=True, why="mine", who="ann@host-a", at=T1)
    services.writing.slices.skip(skip)
    services.close()

    cloned(lake)

    assert planned_slices(lake) == ["d.parquet"]


# packages


BASE = ("lifecycle_manifest",)
NOW = dt.datetime(2021, 1, 2, 6, tzinfo=dt.UTC)
LIMITS = Limits(RunState.FIRST_RUN, dt.datetime(2021, 1, 1, tzinfo=dt.UTC), NOW)


@pytest.fixture
def web(tmp_path):
    place = SessionPlace(tmp_path, None)
    place.write("penstock.yml", YML)
    place.add("e1 s1 01-01 10:00")
    services = opened(place, "prod")
    project, sessions = services.project, services.writing.sessions
    package = project.packages["web"]
    facts = services.log.facts(project.sources["raw.events"].path)
    wanted = SessionPass(
        "web", 0, PassKind.PACKAGE, "run-1", LIMITS, NOW, {"raw.events": facts.pin}
    )
    begun = sessions.begin_pass(wanted, services.holder("run-1"))
    for each in package.models:
        if project.models[each.name].is_view:
            continue
        row = ManifestRow(each.name, NOW, NOW, None, package.fingerprint, "run-1", NOW)
        stitched = 1 if each.name.endswith("mapping") else 0
        promise = SessionPromise("web", row if each.is_tracked else None, stitched=stitched)
        build(services, "run-1", each.name, session=promise)
    sessions.end_pass(begun, PassEnd(Status.SUCCESS, caught_up=True, future_events=False))
    services.close()
    return place


def with_sessions(place, target, use):
    services = opened(place, target)
    try:
        return use(services.reading.sessions)
    finally:
        services.close()


def manifest(place, target):
    rows = with_sessions(place, target, lambda sessions: sessions.manifest("web"))
    return {each.model: (each.last_success, each.covered_to, each.fingerprint) for each in rows}


def planned_limits(place):
    services = opened(place, "dev")
    found = make_plan(services, RunRequest(place.root, as_of=NOW + dt.timedelta(hours=1))).plan
    services.close()
    return [each.name for each in found.steps]


def test_a_cloned_package_has_the_manifest_of_the_other_target_and_nothing_to_do(web):
    report = cloned(web)

    assert report.succeeded, [each.error for each in report.results]
    assert manifest(web, "dev") == manifest(web, "prod")
    assert len(manifest(web, "dev")) == 4
    assert planned_limits(web) == []
    assert with_sessions(web, "dev", lambda s: (s.overwrites("web"), dict(s.stitched("web")))) == (
        frozenset(),
        {"web_user_mapping": 1},
    )
    (last,) = with_sessions(web, "dev", lambda sessions: sessions.passes("web"))
    assert (last.status, last.caught_up, last.limits) == (Status.SUCCESS, True, LIMITS)
    assert isinstance(last.pins["raw.events"], DeltaPin)


def test_the_manifest_of_a_clone_comes_back_from_its_logs(web):
    cloned(web)

    lose_state(web)

    assert manifest(web, "dev") == manifest(web, "prod")


def test_a_run_after_a_killed_clone_replays_what_was_not_cloned(web):
    killed(web, "before-commit:6")

    done = manifest(web, "dev").keys()
    left = with_sessions(web, "dev", lambda sessions: sessions.overwrites("web"))
    assert done < manifest(web, "prod").keys()
    assert manifest(web, "prod").keys() - done <= left
    assert not done & left
    assert planned_limits(web) != []
    assert cloned(web).succeeded
    assert planned_limits(web) == []


def test_a_package_that_is_cloned_again_is_marked_for_a_rebuild_before_it_is_emptied(web):
    cloned(web)

    killed(web, "before-commit:2")

    assert manifest(web, "dev") == {}
    assert "web_sessions" in with_sessions(web, "dev", lambda s: s.overwrites("web"))
    assert cloned(web).succeeded
    assert planned_limits(web) == []


def test_a_table_that_is_to_be_rebuilt_there_is_not_cloned(web):
    services = opened(web, "prod")
    services.writing.leases.unlock("sessions:web")
    services.writing.sessions.forget("web", ["web_users"], ["web_users"])
    services.close()

    report = cloned(web)

    assert report["web_users"].error.code == "nothing-to-clone"
    assert report["web_users"].error.sentence == "web_users is to be rebuilt in target prod"
    assert report["web_sessions"].ok
    (last,) = with_sessions(web, "dev", lambda sessions: sessions.passes("web"))
    assert last.status is Status.FAILED
