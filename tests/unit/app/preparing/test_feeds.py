"""Whether the changes of a feed suffice for a step: what of table, query and feed forbids it."""

from dataclasses import dataclass, field, replace

import pytest

from fakes.builders import NOON, a_model, a_project, a_source, a_success
from fakes.engine import RecordingEngine
from fakes.lake import columns
from fakes.log import FakeLog
from fakes.services import ME, a_shop
from penstock.app.observation.observe import ObservedTables
from penstock.app.preparing.feeds import FeedLooking, HistoryInputs
from penstock.app.preparing.pins import Inputs
from penstock.app.preparing.run_context import Context
from penstock.core.errors import QueryError
from penstock.core.facts import LogCommit
from penstock.core.history import ColumnsDiffer
from penstock.core.names import InputKind, InputName
from penstock.core.steps.inputs import DeltaPin, DeltaRead, InputPin
from penstock.plan.evolution import Evolution
from penstock.strategies.history.snapshot import Snapshot

RAW = InputName(InputKind.SOURCE, "raw.events")
COLUMNS = "id int, value string"
FEED = f"{COLUMNS}, _change_type string, _commit_version bigint, _commit_timestamp timestamp"
MODEL = a_model(
    "users", "raw.events", strategy=Snapshot(("id",), ColumnsDiffer(None), change_feed=True)
)
READ = DeltaRead("/landing/events", 7)


@dataclass
class Session(RecordingEngine):
    """Gives these counts for the one stage."""

    seen: dict[str, int] = field(default_factory=lambda: {"changed_keys": 3, "unclear_keys": 0})

    def stage(self, stage):
        self.asked.append(stage.view)
        if self.refuses:
            raise self.refuses
        return self.seen


def looked(*, replays=True, commits=None, query=COLUMNS, feed=FEED, widened=(), read=READ, **more):
    shop = a_shop(a_project(MODEL, a_source("events")))
    ours = LogCommit(4, NOON, "MERGE", changes_data=True, store=shop.store_id)
    moved = LogCommit(5, NOON, "OPTIMIZE", changes_data=False, store=shop.store_id)
    written = (ours, moved) if commits is None else commits(ours)
    shop.log = FakeLog({"/w/s/users": written})
    known = a_success(MODEL, version=4, raw__events=DeltaPin("id-events", 3))
    context = Context(ME, NOON, shop.project, ObservedTables.empty(NOON), {"users": known})
    inputs = Inputs({RAW: read}, (InputPin(RAW.name, DeltaPin("id-events", 7)),))
    schemas = {
        "penstock_whole_input": columns(COLUMNS),
        "penstock_changes": columns(feed),
        **dict.fromkeys(("penstock_rows_after", "penstock_rows_before"), columns(COLUMNS)),
        **{f"penstock_rows_{each}_0_events": columns(COLUMNS) for each in ("after", "before")},
    }
    session = Session(shop.log, schemas, **more)
    looking = FeedLooking(
        shop, context, MODEL, inputs, session, columns(query), Evolution((), (), widened)
    )
    return looking.changed_rows(HistoryInputs(replays)), session


def test_the_query_runs_over_rows_that_changes_added_and_removed():
    found, session = looked()

    assert found == HistoryInputs(replays=True, changed=3)
    assert [each.read for each in session.bound[:2]] == [READ, replace(READ, changes_since=3)]
    assert [each.read.sql for each in session.bound[2:]] == [
        "SELECT `id`, `value` FROM `penstock_changes` WHERE `_change_type` IN "
        f"('{first}', '{second}')"
        for first, second in (("insert", "update_postimage"), ("delete", "update_preimage"))
    ]
    assert session.asked[-1] == "penstock_changed"


OTHERS = "its table was changed by others, or brought back"


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        (
            {"replays": False},
            "its query does not make each row out of one row, without user code",
        ),
        ({"widened": ("value",)}, "column value is widened"),
        ({"query": "id int, m map<int,int>"}, "column m is MAP<INT,INT>"),
        ({"read": replace(READ, tombstones="gone")}, "it reads a history without its tombstones"),
        ({"commits": lambda ours: (replace(ours, store="others"),)}, OTHERS),
        ({"commits": lambda ours: (ours, replace(ours, version=5, store="others"))}, OTHERS),
        ({"commits": lambda ours: (ours, replace(ours, version=5))}, OTHERS),
        ({"commits": lambda ours: (replace(ours, restored=2),)}, OTHERS),
        ({"commits": lambda ours: (replace(ours, cloned=("/w/x", 2)),)}, OTHERS),
        ({"commits": lambda _: ()}, OTHERS),
        (
            {"feed": f"more int, {FEED}"},
            "the changes of raw.events since version 3 have other columns",
        ),
        (
            {"refuses": QueryError("spark-error", "no feed at version 5")},
            "the changes of raw.events since version 3 cannot be read: no feed at version 5",
        ),
        ({"seen": {"changed_keys": 9, "unclear_keys": 2}}, "2 keys have several changed rows"),
    ],
)
def test_else_all_rows_are_read_and_it_says_why(asked, why):
    found, _ = looked(**asked)

    assert (found.changed, found.remarks) == (None, (f"all rows were read: {why}",))
