"""Kill -9 between any two steps of a pass, run again: rows and manifest as undisturbed."""

import shutil
import signal
import threading
import time

import pytest

from fakes.built_once import built_once
from fakes.command import Command, kill_at
from fakes.kill_project import PROJECT
from fakes.session_lake import an_event
from fakes.session_place import SessionPlace, problems

NOW = "2021-01-05T00:00:00Z"
STEPS = 10
"""All of the second run that commit, the view of limits apart; each does."""
WORDS = ("run", "--select", "web m5", "--as-of", NOW)
REBUILD = ("sessions", "rebuild", "web", "--from", "2021-01-01", "--to", "2021-01-01")
LATE = (
    an_event("e0", "s1", "01-01 09:00", domain_userid="v", user_id="z"),
    "e4 s9 01-01 08:00",
    "e5 s2 01-01 21:00",
)
"""Of a time before the window: another user of a session, a new session, one more event."""
LEFT = {
    "base_sessions_lifecycle_manifest": "* except (first_run_id, last_run_id)",
    "base_quarantined_sessions": "* except (run_id)",
    "user_mapping": "* except (changed_seq, run_id)",
    "page_views": "* except (run_id)",
    "sessions": "* except (run_id)",
    "users": "* except (run_id)",
}


@pytest.fixture(scope="session")
def loaded_package(tmp_path_factory, spark):
    """The package after its first run; `undisturbed` has made the second one too."""

    def build(folder):
        web = SessionPlace(folder / "loaded", spark)
        web.write("penstock.yml", f"{PROJECT}threads: 1\n")
        web.tagged("m5")
        web.add(
            an_event("e1", "s1", "01-01 10:00", user_id="x"),
            "e2 s2 01-01 20:00",
            an_event("e3", "s2", "01-02 01:00", user_id="y"),
            "q1 sQ 01-01 12:00",
            "q2 sQ 01-04 13:00",
        )
        assert problems(web.at("01-02", "web m5")) == []
        undisturbed = web.copied(folder / "undisturbed")
        assert problems(undisturbed.at("01-05", "web m5")) == []

        late = web.copied(folder / "late")
        late.add(*LATE)
        undisturbed = late.copied(folder / "late-undisturbed")
        assert problems(undisturbed.at("01-05", "web m5")) == []
        erased = SessionPlace.at_folder(folder / "undisturbed", spark).copied(folder / "erased")
        erased.sql(f"DELETE FROM delta.`{erased.landing_events}` WHERE domain_sessionid = 's1'")
        undisturbed = erased.copied(folder / "erased-undisturbed")
        Command(undisturbed.root, *REBUILD, spark=spark).ended()
        run_until_in_sync(undisturbed)

    return built_once(tmp_path_factory, "loaded-package", build)


@pytest.fixture
def web(loaded_package, spark, tmp_path):
    shutil.copytree(loaded_package / "loaded", tmp_path / "shop")
    return SessionPlace.at_folder(tmp_path / "shop", spark)


def left(web):
    """Give all that anybody may ask of the package; nothing may be open, or held."""
    services = web.services()
    store = services.writing
    assert (store.leases.taken(), store.journal.running()) == ((), ())
    services.close()
    assert "RUNNING" not in {each.status for each in web.passes()}
    return (
        {part: web.stored(part, what) for part, what in LEFT.items()},
        web.manifest(),
        web.rows("m5"),
    )


def run_until_in_sync(web):
    for _ in range(3):
        report = web.at("01-05", "web m5")
        assert problems(report) == []
        if report.plan.is_empty:
            return
    raise AssertionError(web.windows())


@pytest.mark.matrix
@pytest.mark.parametrize(
    ("point", "number"),
    [
        (point, n)
        for point, first in (("after-begin", 2), ("after-commit", 1))
        for n in range(first, first + STEPS)
    ],
)
def test_a_killed_pass_ends_as_undisturbed(web, loaded_package, point, number):
    kill_at(f"{point}:{number}", web.root, *WORDS, spark=web.spark)

    run_until_in_sync(web)

    assert left(web) == left(SessionPlace.at_folder(loaded_package / "undisturbed", web.spark))


@pytest.mark.matrix
def test_of_two_runs_at_once_one_waits_and_finds_the_work_done(web, loaded_package):
    web.write("penstock.yml", f"{PROJECT}threads: 1\n".replace("length: 4s", "length: 60s"))
    first = Command(web.root, *WORDS, spark=web.spark, fault="stop:after-commit:4")
    first.wait_until_stopped()

    refused = Command(web.root, *WORDS, spark=web.spark).ended()
    threading.Timer(1, first.send, (signal.SIGCONT,)).start()
    waited = [each.error.code for each in web.at("01-05", wait=90).results if each.error]

    code, output = first.ended()
    assert code == 0, output
    assert (refused[0], "lease-held" in refused[1]) == (75, True), refused[1]
    assert waited == ["plan-outdated"]
    run_until_in_sync(web)
    assert left(web) == left(SessionPlace.at_folder(loaded_package / "undisturbed", web.spark))


@pytest.mark.matrix
def test_a_run_that_was_silent_loses_its_package(web, loaded_package):
    first = Command(web.root, *WORDS, spark=web.spark, fault="stop:after-commit:4")
    first.wait_until_stopped()
    time.sleep(5)

    run_until_in_sync(web)
    code, output = first.ended()

    assert (code, "lease-lost" in output) == (1, True), output
    assert left(web) == left(SessionPlace.at_folder(loaded_package / "undisturbed", web.spark))


@pytest.mark.matrix
@pytest.mark.parametrize("number", range(1, 11))
@pytest.mark.parametrize(
    ("place", "words", "least"),
    [("late", WORDS, 8), ("erased", REBUILD, 6)],
    ids=["late", "erased"],
)
def test_what_is_built_again_ends_as_undisturbed_wherever_it_is_killed(
    loaded_package, spark, tmp_path, place, words, least, number
):
    shutil.copytree(loaded_package / place, tmp_path / "shop")
    web = SessionPlace.at_folder(tmp_path / "shop", spark)
    point = "after-commit" if number % 3 else "after-begin"
    code, output = Command(web.root, *words, spark=spark, fault=f"{point}:{number}").ended()
    if code != -signal.SIGKILL:
        assert (code, number > least) == (0, True), output  # it has fewer steps than that

    run_until_in_sync(web)

    undisturbed = SessionPlace.at_folder(loaded_package / f"{place}-undisturbed", spark)
    assert left(web) == left(undisturbed)
