"""Whatever goes wrong between runs of a package, it ends as one run over all events would."""

import datetime as dt
import random
import shutil
from contextlib import closing, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings

from fakes.command import Command
from fakes.kill_project import PROJECT
from fakes.session_history import MODULES, at_once, failing, left_alike, written
from fakes.session_place import SessionPlace, problems
from fakes.session_rows import DAYS, NOW
from laws.spark.test_session_histories import SEEDS, SMALL, event_of, keys_of
from penstock.app.commands.sessions import sessions_forget
from penstock.app.execution.recover import rebuild
from penstock.core.errors import TableError, UnknownModelError, UsageError

pytestmark = [pytest.mark.laws, pytest.mark.spark]
LAST = NOW + dt.timedelta(days=1)  # no event lies in the future then
STATE = ".penstock/state.db"
WORDS = "web m5"


class Trouble:
    """A package that runs day by day, with something going wrong now and then."""

    def __init__(self, folder, spark, luck):
        self.luck, self.folder, self.spark, self.story = luck, folder, spark, []
        self.keys = keys_of(luck) | {
            "session_lookback_days": None,
            "backfill_limit_days": luck.choice([9, 30]),  # few runs catch up
            "user_of_session": luck.choice(["earliest_event", "latest_event", "max"]),
        }
        self.place = SessionPlace(folder / "0", spark, written(self.keys))
        self.place.write("penstock.yml", f"{PROJECT}threads: 1\n")
        self.place.tagged("m5")
        self.saved = None

    def run(self, now):
        report = self.place.at(now, WORDS)
        self.story.append(f"run {now}: {self.place.windows()[-2:]}")
        assert problems(report) == []
        return report.plan.is_empty

    def catch_up(self, now):
        for _ in range(60):
            if self.run(now):
                return
        raise AssertionError(self.place.windows())

    def kill(self, now):
        fault = f"{self.luck.choice(['after-begin', 'after-commit'])}:{self.luck.randint(1, 12)}"
        words = ("run", "--select", WORDS, "--as-of", f"{now.replace(' ', 'T')}Z")
        code, _ = Command(self.place.root, *words, spark=self.spark, fault=fault).ended()
        self.story.append(f"kill {fault}: {code}")

    def rollback(self, _):
        part = self.luck.choice([*MODULES, "m5"])
        self.story.append(f"rollback {part}")
        with suppress(TableError, UsageError, ValueError):  # its last step made no commit
            self.place.take_back(part)

    def move(self, _):
        root = self.folder / str(len(self.story))
        self.story.append("move")
        shutil.move(self.place.root, root)
        self.place = SessionPlace.at_folder(root, self.spark)

    def old_state(self, _):
        state = self.place.root / STATE
        if self.saved is None:
            self.saved = self.folder / "saved.db"
            self.story.append("save state")
            shutil.copy(state, self.saved)
        else:
            self.story.append("old state back")
            for each in state.parent.glob("state.db*"):
                each.unlink()
            shutil.copy(self.saved, state)

    def select(self, now):
        self.asked(now, self.luck.choice([*(f"web_{each}" for each in MODULES), "m5"]))

    def fail(self, now):
        with failing([f"web_{self.luck.choice(MODULES)}"]):
            self.asked(now, WORDS)

    def per_model(self, _):
        self.keys |= {"backfill": "per_model"}
        self.place.package(written(self.keys))

    def forget(self, _):
        named, truncate = self.luck.sample([*MODULES, "m5"], 2), self.luck.choice([True, False])
        names = [name if name == "m5" else f"web_{name}" for name in named]
        self.story.append(f"forget {names} {truncate}")
        with closing(self.place.services()) as services, suppress(UnknownModelError):
            sessions_forget(services, "web", names, truncate=truncate)

    def asked(self, now, words):
        self.place.at(now, words)
        self.story.append(f"run {words} {now}: {self.place.windows()[-2:]}")

    def lost_state(self, _):
        self.story.append("state lost")
        for each in (self.place.root / STATE).parent.glob("state.db*"):
            each.unlink()
        with closing(self.place.services()) as services:
            rebuild(services)


def tell(spark, seed):
    """Load events in order, run after each load, and let things go wrong in between."""
    luck = random.Random(seed)  # noqa: S311  it draws tests
    with TemporaryDirectory() as folder:
        web = Trouble(Path(folder), spark, luck)
        events = [event_of(luck) | {"event_id": f"e{n}"} for n in range(luck.randint(5, 30))]
        events += luck.choices(events, k=3)  # they come twice
        events.sort(key=lambda e: e["collector_tstamp"])
        days = sorted(luck.sample(range(1, DAYS), luck.randint(2, 3)))
        try:
            for day in days:
                now = f"2021-01-{day:02d} 12:00:00"
                loaded = [e for e in events if f"{e['collector_tstamp']:%Y-%m-%d %H:%M:%S}" <= now]
                if loaded:
                    web.place.add(*loaded)
                events = events[len(loaded) :]
                web.all = [*getattr(web, "all", []), *loaded]
                before = luck.choice(["kill", "kill", "fail", "select", "run"])
                getattr(web, before)(now)
                web.run(now)
                after = ["rollback", "move", "old_state", "lost_state", "forget", "per_model"]
                getattr(web, luck.choice(after))(now)
            if events:
                web.place.add(*events)
            web.catch_up(f"{LAST:%Y-%m-%d %H:%M:%S}")
            oracle = at_once([*web.all, *events], web.keys, LAST)
            left_alike(web.place, oracle)
            told = {e["event_id"] for e in oracle.events_this_run}
            assert {row[0] for row in web.place.rows("m5")} == told
        except BaseException as error:
            error.add_note("\n".join([repr(web.keys), *web.story]))
            raise


@pytest.mark.matrix
@pytest.mark.timeout(3600)  # three stories of many processes
@settings(SMALL, max_examples=3)
@given(SEEDS)
def test_whatever_goes_wrong_between_runs_they_end_as_one_run_would(spark, seed):
    tell(spark, seed)
