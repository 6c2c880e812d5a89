"""`doctor` looks at what penstock stands on, project or not, and says what to do."""

import datetime as dt
import sys

import pytest

from fakes.builders import a_model, a_project
from fakes.services import a_shop, built
from penstock.app.commands import doctor
from penstock.app.commands.doctor import DoctorReport, Health, HealthCheck, examine
from penstock.app.commands.init import init
from penstock.app.services.wire import version
from penstock.core.project import Target
from penstock.engine.java import Java
from penstock.state.sql.journal import StoreLeases

JAVA = Java("/java/bin/java", 17)


@pytest.fixture(autouse=True)
def machine(monkeypatch, tmp_path):
    """A machine on which everything is in order."""
    monkeypatch.setattr(doctor, "require_java", lambda _: JAVA)
    monkeypatch.setattr(doctor, "find_java", lambda _: JAVA)
    monkeypatch.setattr(doctor, "is_whole", lambda _: True)
    monkeypatch.setattr(doctor, "spark_versions", lambda: ("4.2.0", "4.4.0"))
    monkeypatch.setattr(doctor, "cached_jars", lambda: ("/ivy/jars/a.jar", "/ivy/jars/b.jar"))
    archive = tmp_path / "session.jsa"
    archive.touch()
    monkeypatch.setattr(doctor, "archive_path", lambda *_: archive)
    return archive


def found(name, report):
    return next(check for check in report.checks if check.name == name)


def test_without_a_project_the_machine_alone_is_looked_at(machine, tmp_path):
    assert examine(None, environ={}) == DoctorReport(
        (
            HealthCheck(
                "python", Health.OK, f"Python {sys.version.split()[0]}, penstock-delta {version()}"
            ),
            HealthCheck("java", Health.OK, "Java 17 at /java/bin/java"),
            HealthCheck("spark", Health.OK, "pyspark 4.2.0, delta-spark 4.4.0"),
            HealthCheck("jars", Health.OK, "2 Delta jars in /ivy/jars"),
            HealthCheck("archive", Health.OK, f"class archive {machine}"),
        )
    )
    assert examine(tmp_path, environ={}) == examine(None, environ={})


def test_missing_java_is_an_error_with_the_way_to_get_it(monkeypatch):
    monkeypatch.undo()

    check = found("java", examine(None, environ={"PATH": "/nowhere"}))

    assert (check.ok, check.says) == (False, "Spark needs Java 17 or newer and none was found")
    assert "install" in check.hint


def test_a_reduced_java_is_an_error(monkeypatch):
    monkeypatch.setattr(doctor, "is_whole", lambda _: False)

    assert not found("java", examine(None, environ={})).ok


def test_missing_jars_are_fetched_only_when_asked(monkeypatch):
    monkeypatch.setattr(doctor, "cached_jars", lambda: ())
    monkeypatch.setattr(doctor, "coordinate", lambda: "io.delta:x:1")
    monkeypatch.setattr(doctor, "ensure_jars", lambda: ("/ivy/jars/a.jar",))

    assert found("jars", examine(None, environ={})) == HealthCheck(
        "jars",
        Health.ERROR,
        "the Delta jars (io.delta:x:1) are not fetched yet",
        "penstock doctor --fix, or let the first run fetch them",
    )
    assert found("jars", examine(None, fix=True, environ={})).ok


def test_a_missing_archive_only_costs_time_and_fix_makes_it(machine, monkeypatch):
    machine.unlink()
    monkeypatch.setattr(doctor, "make_archive", lambda path: path.touch())

    assert found("archive", examine(None, environ={})).health is Health.WARNING
    assert examine(None, environ={}).healthy
    assert found("archive", examine(None, fix=True, environ={})).health is Health.OK


def test_another_spark_in_the_environment_is_a_warning():
    check = found("spark", examine(None, environ={"SPARK_HOME": "/opt/spark"}))

    assert check.health is Health.WARNING
    assert "/opt/spark" in check.says


def test_a_fresh_project_is_well_and_stays_untouched(tmp_path):
    init(tmp_path / "shop")
    before = sorted((tmp_path / "shop").rglob("*"))

    report = examine(tmp_path / "shop", environ={})

    assert [(c.name, c.ok) for c in report.checks[5:]] == [
        ("project", True),
        ("state", True),
        ("warehouse", True),
        ("clock", True),
        ("logs", True),
    ]
    made = set((tmp_path / "shop").rglob("*")) - set(before)
    assert not [path for path in made if path.name in ("state.db", "warehouse")]


def test_a_project_with_findings_sends_to_validate(tmp_path):
    (tmp_path / "penstock.yml").write_text("name: shop\ntaget: dev\n")

    check = found("project", examine(tmp_path, environ={}))

    assert (check.ok, check.says, check.hint) == (
        False,
        "the project has 1 error",
        "penstock validate",
    )


def test_a_warehouse_under_a_file_cannot_be_written(tmp_path):
    (tmp_path / "file").touch()

    check = HealthCheck(
        "warehouse", *doctor._warehouse(Target("dev", str(tmp_path / "file" / "warehouse"), ""))
    )

    assert not check.ok


def test_a_log_in_which_spark_ran_out_of_room_is_a_warning_with_what_helps(tmp_path):
    init(tmp_path / "shop")
    logs = tmp_path / "shop" / ".penstock" / "logs"
    logs.mkdir(parents=True)
    (logs / "01-older.log").write_text("java.lang.OutOfMemoryError: Java heap space\n")
    (logs / "02-newer.log").write_text("CodeCache is full. Compiler has been disabled.\n")
    (logs / "03-quiet.log").write_text("WARN Utils: all is well\n")

    check = found("logs", examine(tmp_path / "shop", environ={}))

    assert check == HealthCheck(
        "logs",
        Health.WARNING,
        f"Spark said 'CodeCache is full. Compiler has been disabled' in {logs / '02-newer.log'}",
        "give the target more room: conf: {spark.driver.extraJavaOptions: "
        "-XX:ReservedCodeCacheSize=512m}",
    )


def test_logs_older_than_the_last_five_are_not_looked_at(tmp_path):
    init(tmp_path / "shop")
    logs = tmp_path / "shop" / ".penstock" / "logs"
    logs.mkdir(parents=True)
    for number in range(6):
        (logs / f"0{number}.log").write_text("" if number else "Out of space in CodeCache\n")

    assert found("logs", examine(tmp_path / "shop", environ={})).health is Health.OK


def test_a_clock_behind_the_records_is_an_error():
    model = a_model("a")
    services = a_shop(a_project(model))
    built(services, model)
    services.clock.advance(hours=-2)

    assert HealthCheck("clock", *doctor._clock(services)) == HealthCheck(
        "clock",
        Health.ERROR,
        "the clock says 2024-03-01 10:00 UTC, but something ran at 2024-03-01 12:00 UTC",
        "set the clock; leases and history need it",
    )


@pytest.mark.parametrize(
    ("skew", "health", "says"),
    [
        (5, Health.OK, "2025-03-01 12:00 UTC"),
        (12, Health.WARNING, "the clock says 2025-03-01 12:00:00 UTC, 12 s behind the server"),
        (-400, Health.WARNING, "the clock says 2025-03-01 12:00:00 UTC, 400 s ahead of the server"),
    ],
)
def test_a_clock_that_differs_from_that_of_the_states_server_is_a_warning(
    monkeypatch, skew, health, says
):
    services = a_shop(a_project())
    services.clock.advance(days=365)
    away = dt.timedelta(seconds=skew)
    monkeypatch.setattr(StoreLeases, "clock_skew", lambda _: away)

    found = doctor._clock(services)

    assert found[0] is health
    assert found[1].startswith(says)


def test_a_clock_before_the_first_release_is_an_error():
    services = a_shop(a_project())
    services.has_state = lambda: False

    assert not HealthCheck("clock", *doctor._clock(services)).ok
    services.clock.advance(days=(dt.date(2025, 1, 2) - dt.date(2024, 3, 1)).days)
    assert HealthCheck("clock", *doctor._clock(services)).ok
