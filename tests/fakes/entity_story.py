"""Random histories of a project with one entity, beside what plain Python says of them."""

from __future__ import annotations

import datetime as dt
import shutil
import signal
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path

from fakes.command import Command
from fakes.entity_files import entity
from fakes.entity_place import EntityPlace, counted
from fakes.kill_project import PROJECT
from fakes.silver_model import Given, SilverModel, TimeTakenError
from penstock.app.commands.entities import skip_slice
from penstock.app.commands.rollback import rollback
from penstock.app.execution.recover import rebuild
from penstock.app.request import RollbackRequest
from penstock.core.records import Status

MODEL = "silver_aw.x"
BEGIN = dt.datetime(2025, 5, 5, 10, tzinfo=dt.UTC)
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
POINTS = ("after-begin", "before-commit", "after-commit", "during-finish", "after-finish")
COMMITTED = ("after-commit", "during-finish", "after-finish")
KINDS = {
    "full": {"process": "full"},
    "parts": {"process": "full", "by_name": True},
    "merge": {},
    "inferring": {"infers": True},
    "on change": {"infers": True, "on_change": True},
    "historic": {"process": "historic", "infers": True},
}


def entity_of(kind: str) -> dict[str, object]:
    """Give the entity of a kind as its document says it."""
    how = KINDS[kind]
    settings = {"delete_missing": how.get("infers", False)}
    if how.get("on_change"):
        settings["last_seen"] = "on_change"
    columns = [{"name": "ID", "fieldroles": ["businesskey"]}]
    if how.get("by_name"):
        columns.append({"name": "name", "fieldroles": ["partition"]})
    process = how.get("process", "merge")
    return entity(process=process, columns=columns, settings=settings if process != "full" else {})


@dataclass
class Took:
    """One step as the oracle remembers it; `before` is the table that it found."""

    slice: str
    content: int
    done: bool
    commits: bool
    initial: bool
    before: SilverModel
    after: SilverModel
    table: int
    id: str = ""
    undone: bool = False


class EntityStory:
    """A project, and a model of it; each deed does something to both and compares them."""

    def __init__(self, root: Path, spark, kind: str) -> None:
        self.place = EntityPlace(root, spark, entity_of(kind))
        self.place.write("penstock.yml", PROJECT)
        self.kind, self.spark = kind, spark
        self.model = SilverModel(**KINDS[kind])
        self.bronze: dict[str, tuple[int, Given]] = {}
        self.steps: list[Took] = []
        self.skipped: set[str] = set()
        self.clock, self.exists, self.deliveries, self.tables = BEGIN, False, 0, 0
        self.kept: tuple[Path, int, set[str]] | None = None
        self.known = 0

    # Deeds

    def deliver(self, name: str, rows: Given) -> None:
        self.deliveries += 1
        self.bronze[name] = (self.deliveries, rows)
        shown = [(key, *row) for key, row in rows.items()]
        self.place.slice(name, *shown, columns="ID, SeqNr, name, p_deleted")

    def remove(self, name: str) -> None:
        if name in self.bronze:
            del self.bronze[name]
            (self.place.bronze() / f"{name}.parquet").unlink()

    def run(self, *, named: str = "", anew: bool = False, back: bool = False) -> None:
        at = self._next(back=back)
        wanted, error = self._wanted(named, anew=anew)
        told = [error] if error else self._take(wanted, at, initial=self._initial(anew=anew))
        asked = {"full_refresh": anew, "allow_backdated": back}
        report = self.place.at(at.isoformat(), slice=named, **asked)
        found = [counted(each).removesuffix(" =0").replace(" =0 ", " ") for each in report.results]
        for each in report.results:
            name = each.slice.removesuffix(".parquet")
            took = next((took for took in reversed(self.steps) if took.slice == name), None)
            if took is not None and each.step:
                took.id = each.step
        assert found == (told or ["unchanged"]), (found, told)
        self.compare()

    def killed(self, point: str, number: int, *, named: str = "", anew: bool = False) -> None:
        """Let a process do it, which a fault point kills."""
        at, self._died = self._next(), False
        wanted, error = self._wanted(named, anew=anew)
        if not error:
            self._take(wanted, at, initial=self._initial(anew=anew), fault=(point, number))
        words = ("run", "--select", MODEL, "--processing-time", at.isoformat())
        words += ("--slice", named) * bool(named) + ("--full-refresh", "--yes") * anew
        command = Command(self.place.root, *words, spark=self.spark, fault=f"{point}:{number}")
        code, output = command.ended()
        assert code in (0, 1, 2, -signal.SIGKILL), output
        self.output = output
        assert (code == -signal.SIGKILL) == self._died, output

    def skip(self, name: str) -> None:
        found = self.slices()
        if name in self.bronze and found.get(name) != "SUCCESS" and name not in self.skipped:
            services = self.place.services()
            skip_slice(services, "x", name, "bad")
            services.close()
            self.skipped.add(name)

    def roll_back(self, number: int) -> None:
        """Take back a step that committed, unless nothing was before it."""
        made = [k for k, took in enumerate(self.steps) if took.commits and took.id]
        made = [k for k in made if self.steps[k].table == self.tables]
        own = [k for k in made if k >= self.known]  # a new store holds the others for foreign
        made = [k for k in made[1:] if k in own]
        if not made or not self.exists:
            return
        place = made[number % len(made)]
        services = self.place.services()
        try:
            rollback(
                services, RollbackRequest(".", MODEL, to=self.steps[place].id, include_foreign=True)
            )
        finally:
            services.close()
        self.model = deepcopy(self.steps[place].before)
        for took in self.steps[place:]:
            took.undone = True
        self.compare()

    def lose_table(self) -> None:
        if self.exists:
            self.place.folders_gone()
            self.exists = False
            self.tables += 1

    def lose_state(self) -> None:
        """Delete the state, and make it anew from the log."""
        if not self.exists:
            return
        for file in (self.place.root / ".penstock").glob("state.db*"):
            file.unlink()
        services = self.place.services()
        rebuild(services)
        services.close()
        self._forget(0)
        self.skipped, self.known, self.kept = set(), len(self.steps), None
        self.compare()

    def keep_state(self) -> None:
        file = self.place.root / ".penstock" / "state.db"
        if file.exists():
            shutil.copy(file, self.place.root / "kept.db")
            self.kept = (len(self.steps), set(self.skipped))

    def put_state_back(self) -> None:
        if self.kept is None or not self.exists:
            return
        for file in (self.place.root / ".penstock").glob("state.db*"):
            file.unlink()
        shutil.copy(self.place.root / "kept.db", self.place.root / ".penstock" / "state.db")
        self._forget(self.kept[0])
        self.skipped = set(self.kept[1])

    def move(self) -> None:
        root = self.place.root.with_name(self.place.root.name + "m")
        shutil.move(self.place.root, root)
        self.place.root = root

    def optimize(self) -> None:
        if self.exists:
            self.place.sql(f"OPTIMIZE delta.`{self.place.silver()}`")

    def does(self, what: str, name: str, number: int, rows: Given) -> None:
        """Do one deed; a process that was killed is followed by a run."""
        point, asked = POINTS[number % len(POINTS)], {"named": name} if number % 3 == 1 else {}
        deeds: dict[str, Callable[[], None]] = {
            "deliver": lambda: self.deliver(name, rows),
            "run": self.run,
            "named": lambda: self.run(named=name),
            "anew": lambda: self.run(anew=True),
            "backdated": lambda: self.run(back=True),
            "killed": lambda: self.killed(point, 1 + (number > 6), **asked),
            "killed anew": lambda: self.killed(point, 1, anew=True),
            "remove": lambda: self.remove(name),
            "skip": lambda: self.skip(name),
            "roll back": lambda: self.roll_back(number),
            "lose table": self.lose_table,
            "lose state": self.lose_state,
            "keep state": self.keep_state,
            "put back": self.put_state_back,
            "move": self.move,
            "optimize": self.optimize,
        }
        deeds[what]()
        if what in ("killed", "killed anew", "put back"):
            self.run()

    # The oracle

    def slices(self) -> dict[str, str]:
        """Give what became of each slice."""
        counts = [took for took in self.steps if not took.undone]
        remade = max((k for k, t in enumerate(counts) if t.initial and t.commits), default=0)
        found: dict[str, str] = {}
        for took in counts[remade:]:
            if took.done or found.get(took.slice) != "SUCCESS":
                found[took.slice] = "SUCCESS" if took.done else "FAILED"
        return {
            **found,
            **{name: "SKIPPED" for name in self.skipped if found.get(name) != "SUCCESS"},
        }

    def _initial(self, *, anew: bool) -> bool:
        return anew or not self.exists

    def _next(self, *, back: bool = False) -> dt.datetime:
        self.clock += dt.timedelta(minutes=1)
        return BEGIN + dt.timedelta(seconds=len(self.steps)) if back else self.clock

    def _wanted(self, named: str, *, anew: bool) -> tuple[list[str], str]:
        built = any(took.commits for took in self.steps)
        if built and not self.exists and self.model.process == "historic" and not anew:
            return [], "history-missing"
        found = self.slices()
        success = {name for name, status in found.items() if status == "SUCCESS"}
        if named:
            if self._initial(anew=anew) and success - self.bronze.keys() and not anew:
                return [], "missing-slices"
            return ([named], "") if named in self.bronze else ([], "slice-not-found")
        if self._initial(anew=anew):
            if success - self.bronze.keys() and not anew:
                return [], "missing-slices"
            return sorted(name for name in self.bronze if found.get(name) != "SKIPPED"), ""
        done = success | {name for name, status in found.items() if status == "SKIPPED"}
        return sorted(self.bronze.keys() - done), ""

    def _take(self, wanted, at, *, initial: bool, fault=("", 0)) -> list[str]:
        told, passed, self._died = [], 0, False
        for number, name in enumerate(wanted):
            moment = at + dt.timedelta(microseconds=number)
            content, rows = self.bronze[name]
            before = deepcopy(self.model)
            after = SilverModel(**KINDS[self.kind]) if initial else deepcopy(self.model)
            try:
                says = after.run(micros(moment), rows)
            except TimeTakenError:
                refused = (False, False, initial, before, before, self.tables)
                self.steps.append(Took(name, content, *refused))
                told.append(f"{name}.parquet run-time-not-after-version")
                told += [f"{each}.parquet skipped" for each in wanted[number + 1 :]]
                return told
            commits = initial or after.commits > before.commits
            passes = commits or fault[0] not in ("before-commit", "after-commit")
            passed += passes
            self._died = passes and passed == fault[1]
            is_told = fault[0] == "after-finish" or (commits and fault[0] in COMMITTED)
            lost = self._died and not is_told
            came = (not lost, commits and not lost, initial, before, after, self.tables)
            self.steps.append(Took(name, content, *came))
            if not lost:
                self.model = after
                if commits:
                    self.exists = True
            if self._died:
                return told
            told.append(f"{name}.parquet {says}".removesuffix(" =0").replace(" =0 ", " "))
            initial = False
        return told

    def _forget(self, first: int) -> None:
        """Take back what only a state knew: steps without a commit after which none came."""
        last = max((k for k, took in enumerate(self.steps) if took.commits), default=-1)
        for place, took in enumerate(self.steps):
            told = took.commits or (took.done and place < last)
            if place >= first and (took.table != self.tables or not told):
                took.undone = True
        counts = [took for took in self.steps if not took.undone and took.done]
        if counts:
            self.model.watermark = counts[-1].after.watermark

    # Both

    def compare(self) -> None:
        """Hold rows, slices and watermark against the oracle."""
        if self.exists:
            versions = ", unix_micros(p_ValidFrom), unix_micros(p_ValidTo)"
            columns = "ID, SeqNr, name, p_deleted, unix_micros(p_lastSeen)"
            sql = f"SELECT {columns}{versions * (self.model.process == 'historic')} FROM delta."
            stored = self.place.sql(f"{sql}`{self.place.silver()}`")
            own = [(r.key, r.seq, r.name, r.deleted, r.seen) for r in self.model.rows]
            if self.model.process == "historic":
                own = [
                    (r.key, r.seq, r.name, r.deleted, r.seen, r.start, r.end)
                    for r in self.model.rows
                ]
            assert sorted(stored, key=repr) == sorted(own, key=repr), (stored, own)
        services = self.place.services()
        try:
            recorded = services.reading.slices.recorded(MODEL)
            record = services.reading.records.models().get(MODEL)
            found = {e.id.name.removesuffix(".parquet"): str(e.status) for e in recorded}
            assert found == self.slices(), (found, self.slices())
            low = {each.column: each.value.text for each in record.watermarks} if record else {}
            want = {} if self.model.watermark is None else {"SeqNr": str(self.model.watermark)}
            assert low == (want if self.model.process != "full" else {})
            assert services.writing.journal.running() == ()
            assert services.writing.leases.taken() == ()
            assert all(each.status is not Status.RUNNING for each in recorded)
        finally:
            services.close()


def micros(moment: dt.datetime) -> int:
    """Give an instant as Spark counts them."""
    return (moment - _EPOCH) // dt.timedelta(microseconds=1)
