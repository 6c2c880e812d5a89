"""Whatever befalls a state, a command works or says what is wrong; nothing ends in a traceback."""

import datetime as dt
import json
import random
import shutil
import traceback
from copy import copy
from dataclasses import replace

import pytest

from contracts.store_cases import BROKEN, DAY, HERE, LEASE, OURS, failed_gate, run, wrote
from contracts.test_store_sessions import BEGUN, EVENTS, ROW
from fakes.builders import a_model, a_source
from fakes.damages import DAMAGES, spoil_document
from fakes.flaky import FlakyStore
from fakes.versioned_models import a_body, a_daily
from fakes.workshop import ELSEWHERE, Workshop
from penstock.app.commands.audit import audit
from penstock.app.commands.diff import diff
from penstock.app.commands.history import check_history, history
from penstock.app.commands.plan import preview
from penstock.app.commands.show import show
from penstock.app.commands.state import show_watermarks
from penstock.app.commands.status import status
from penstock.app.commands.sync import plan_sync
from penstock.app.execution.recover import recover
from penstock.app.read_requests import DiffRequest, HistoryRequest
from penstock.app.request import AuditRequest, RunRequest, StatusRequest, SyncRequest
from penstock.core.check_results import Checked, Quarantine
from penstock.core.checks.check import OnFailure
from penstock.core.entities.slices import SliceId
from penstock.core.errors import PenstockError
from penstock.core.facts import Seen, Touched
from penstock.core.query import TemplateRows
from penstock.core.records import HookMoment, HookRecord, SliceSkip, Status
from penstock.core.sessions.manifest import SessionPromise
from penstock.core.steps.step import Outcome, StepKind
from penstock.core.strategy import WindowSettings
from penstock.state.open import open_store
from penstock.state.sql.sqlite import restore
from penstock.strategies.append import Append
from penstock.ui.commands.plan import plan_text
from penstock.ui.commands.status import status_document, status_text

AT = dt.datetime(2024, 3, 1, 12, 30, tzinfo=dt.UTC)
SOME = pytest.mark.parametrize(
    "seeds", [range(3), pytest.param(range(3, 40), marks=pytest.mark.matrix)]
)
BLOCK = OnFailure.BLOCK
KNOWN = {"", "state-damaged", "state-too-new", "state-of-another-project"}
KNOWN |= {"unknown-step"}  # an index that has lost a row
KEPT = Quarantine("", "", "/w/.quarantine/x", "q.x", ((19755, 19755),), 4, AT)


def what_became_of(act, *given):
    """Give the code of the error, "" for none; a traceback is the text of one."""
    try:
        act(*given)
    except PenstockError as error:
        return error.code
    except Exception:  # noqa: BLE001  any traceback is what is looked for
        return traceback.format_exc()
    return ""


class Busy:
    """A project that was run, in whose state every table has rows."""

    def __init__(self, file):
        self.file = file
        self.workshop = Workshop(
            a_source("events"),
            a_model("top", "raw.events"),
            a_model("log", "raw.events", strategy=Append(WindowSettings("n"))),
            a_daily("daily", a_body("1", "2024-02-01")),
        )
        self.open()
        self.fill()

    def open(self):
        clock = self.workshop.clock
        url = f"sqlite:///{self.file}"
        store = open_store(url, identity=OURS, clock=clock, lease=LEASE)
        self.workshop.store = FlakyStore(store)

    def close(self):
        self.workshop.store.close()

    def fill(self):
        workshop = self.workshop
        workshop.run()
        journal = workshop.store.journal
        for number, failing in enumerate([(), ("2024-02-03",)]):
            step = workshop.begin(
                HERE,
                "daily",
                f"daily-{number}",
                grid=DAY,
                partitions=("2024-02-02..2024-02-05",),
                kind=StepKind.BUILD,
            )
            checked = failed_gate(*failing, mode=OnFailure.BLOCK) if failing else Checked(BLOCK)
            kept = replace(KEPT, step=step.step, model="daily") if failing else None
            journal.record_checks(step.step, replace(checked, quarantine=kept))
            version = workshop.commit(step)
            table = workshop.lake.tables[step.uri].table_id
            journal.finish(step.step, Outcome(version, table, version, metrics={"rows": 3}))
        flagged = workshop.begin(HERE, "top", "flagged")
        journal.record_checks("flagged", failed_gate("*"))
        journal.finish("flagged", wrote(workshop.commit(flagged)))
        due = workshop.begin(HERE, "log", "due", on_failure="flag")
        journal.finish("due", wrote(workshop.commit(due)), recovered=True)
        sessions = workshop.store.sessions
        sessions.note_events(sessions.begin_pass(BEGUN, HERE), EVENTS)
        sessions.release("web", ["s1"], "ann")
        promise = SessionPromise("web", ROW, stitched=1)
        kept = workshop.begin(HERE, "top", "promised", session=promise)
        journal.finish("promised", wrote(workshop.commit(kept)))
        failed = workshop.begin(HERE, "top", "failed", slice=SliceId("b", 3, 7, "digest"))
        journal.fail(failed.step, BROKEN)
        workshop.store.slices.skip(SliceSkip("top", "b", True, "broken", "ann", AT))
        touched = Touched(0, AT, "WRITE", spans={"n": ((0, 5),), "date": None})
        workshop.store.notes.note(Seen("raw.events", "id-1", 0), [touched])
        workshop.store.notes.keep_rows({"key": TemplateRows((("n", "int"),), (("1",),))})
        hook = HookRecord(HERE.run, HookMoment.AFTER, 0, "select 1", AT, "due", "log")
        workshop.store.hooks.note([hook, replace(hook, number=1, status=Status.SUCCESS)])
        journal.end_run(HERE.run, Status.SUCCESS)
        workshop.begin(ELSEWHERE, "top", "left")  # by a process that is gone
        workshop.clock.advance(days=1)

    def damaged(self, damage, seed, folder):
        """Give the way to the same state after a damage."""
        twin = object.__new__(Busy)
        twin.file, twin.workshop = folder / "state.db", copy(self.workshop)
        shutil.copyfile(self.file, twin.file)
        shutil.copyfile(f"{self.file}.good", f"{twin.file}.good")
        damage(twin.file, random.Random(f"{damage.__name__} {seed}"))  # noqa: S311  the same in every run
        return twin

    def do(self, *commands):
        """Give what became of each command on the state as it is now."""
        opened = what_became_of(self.open)
        if opened:
            return {opened}
        try:
            return {what_became_of(command, self.workshop) for command in commands}
        finally:
            self.close()


def told(workshop):
    report = status(workshop.services(), StatusRequest())
    assert status_text(report)
    assert status_document(report)


def planned(workshop):
    assert plan_text(preview(workshop.services(), RunRequest()))


def listed(workshop):
    for model in ("top", "log", "daily"):
        show(workshop.services(), model)
        history(workshop.services(), HistoryRequest(".", model, show_sql=True))
        workshop.store.slices.recorded(model)
        check_history(workshop.services(), HistoryRequest(".", model))


def packed(workshop):
    sessions = workshop.store.sessions
    for read in (sessions.manifest, sessions.passes, sessions.releases, sessions.stitched):
        read("web")


def compared(workshop):
    audit(workshop.services(), AuditRequest(diffs=True))
    diff(workshop.services(), DiffRequest())
    show_watermarks(workshop.services(), history=True)


def synced(workshop):
    plan_sync(workshop.services(), SyncRequest())


def exported(workshop):
    workshop.store.archive.export()
    workshop.store.leases.taken()


def written(workshop):
    """Do to the state what a run does."""
    journal = workshop.store.journal
    recover(workshop.services())
    journal.start_run(run(HERE))
    for model in ("top", "log"):
        step = workshop.begin(HERE, model, f"next-{model}")
        journal.finish(step.step, wrote(9))
    journal.end_run(HERE.run, Status.SUCCESS)


READING = (told, planned, listed, packed, compared, synced, exported)


@pytest.fixture(scope="module")
def busy(tmp_path_factory):
    busy = Busy(tmp_path_factory.mktemp("busy") / "state.db")
    busy.close()
    return busy


def test_every_table_has_rows(busy):
    busy.open()
    document = json.loads(busy.workshop.store.archive.export())
    busy.close()

    assert [name for name, rows in document["tables"].items() if not rows] == []
    assert busy.do(*READING) == {""}


@SOME
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_read_or_named_and_its_hint_works(busy, damage, seeds, tmp_path):
    found = []
    for seed in seeds:
        folder = tmp_path / str(seed)
        folder.mkdir()
        twin = busy.damaged(damage, seed, folder)
        became = twin.do(*READING)
        if "state-damaged" in became:
            restore(f"sqlite:///{twin.file}", AT)
            found += [(seed, f"not restored: {each}") for each in twin.do(*READING) - {""}]
        else:
            became |= twin.do(written)
        found += [(seed, each) for each in became - KNOWN]

    assert found == [], "\n".join(f"{seed}: {each}" for seed, each in found)


@SOME
def test_a_damaged_document_is_imported_or_refused_and_then_nothing_changes(busy, seeds, tmp_path):
    busy.open()
    document = busy.workshop.store.archive.export()
    busy.close()
    found, taken = [], 0
    for seed in range(seeds.start * 10, seeds.stop * 10):
        spoiled = spoil_document(document, random.Random(seed))  # noqa: S311  the same every time
        folder = tmp_path / str(seed)
        folder.mkdir()
        twin = busy.damaged(nothing, seed, folder)
        became = twin.do(lambda workshop, text=spoiled: workshop.store.archive.load(text))
        taken += became == {""}
        found += [(seed, each) for each in became - {"", "state-import-invalid"}]
        if became == {""}:
            found += [(seed, f"taken: {each}") for each in twin.do(*READING, written) - {""}]
        elif seed % 10 == 0:
            found += [(seed, "changed")] if exported_by(twin) != document else []

    assert found == [], "\n".join(f"{seed}: {each}" for seed, each in found)
    assert 0 < taken < 10 * len(seeds) / 2


def nothing(file, chance):
    """Leave a file as it is."""


def exported_by(twin):
    twin.open()
    document = twin.workshop.store.archive.export()
    twin.close()
    return document
