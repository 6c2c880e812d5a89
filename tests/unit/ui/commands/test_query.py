"""`rollback` and `accept`: what their flags ask, and how they end; `query`: where its rows go."""

import contextlib
import json
from dataclasses import replace

import pytest

from fakes.builders import a_model, a_project
from fakes.engine import RecordingEngine
from fakes.log import FakeLog
from fakes.services import a_shop
from penstock.app.commands.accept import AcceptedCommits
from penstock.app.commands.rollback import RollbackReport
from penstock.app.request import (
    RollbackRequest,
)
from penstock.core.ports.engine import QueryResult
from penstock.strategies.view import View

ROLLED = RollbackReport(
    "daily",
    "0190a3c4",
    version=4,
    partitions=(("2024-12-02", "2024-12-16"),),
    count=15,
    deleted=1,
    lines=("downstream becomes upstream_changed: weekly_summary",),
)


def test_rollback_asks_for_what_its_flags_say(use_case, call):
    asked = use_case("commands.rollback", "rollback", replace(ROLLED, dry_run=True))
    words = "rollback daily --to 0190a3 --include-foreign --dry-run --wait 5"

    code, out, _ = call(*words.split())

    assert asked[0][1] == RollbackRequest(
        ".", "daily", to="0190a3", include_foreign=True, dry_run=True, wait=5, arguments=words
    )
    assert code == 0
    assert out == (
        "daily: would be restored to version 4, before step 0190a3c4 (15 partitions)\n"
        "    2024-12-02 to 2024-12-16\n"
        "    1 partition without an earlier success: records deleted\n"
        "downstream becomes upstream_changed: weekly_summary\n"
        "Nothing was done.\n"
    )


@pytest.mark.parametrize(
    ("report", "code", "last"),
    [
        (replace(ROLLED, committed=9), 0, "Next: penstock status"),
        (replace(ROLLED, aborted=True), 1, "Aborted, nothing was done."),
    ],
)
def test_a_rollback_that_is_not_confirmed_exits_1(report, code, last, use_case, call):
    use_case("commands.rollback", "rollback", report)
    words = ("rollback", "daily", "--to", "0190", "--yes")

    shown, as_json = call(*words), call(*words, "--json")

    assert (shown[0], as_json[0]) == (code, code)
    assert shown[1].splitlines()[-1] == last
    assert json.loads(as_json[1])["committed"] == report.committed


def test_accept_records_what_was_typed(use_case, call):
    report = AcceptedCommits("daily", "0190a3c4", "seen", ("2024-12-02",), ())
    asked = use_case("commands.accept", "accept", report)

    code, out, _ = call("accept", "daily", "--reason", "seen")

    assert asked[0][1:] == ("daily", "seen", "accept daily --reason seen")
    assert (code, out) == (0, "accepted: daily in 2024-12-02\n")


@pytest.fixture
def shop(monkeypatch):
    """A shop whose engine gives two rows for whatever it is asked."""
    made = a_shop(a_project(a_model("clean", strategy=View())), FakeLog())
    made.engine = RecordingEngine(made.log, answer=QueryResult(("n",), (("1",), ("ä",))))

    @contextlib.contextmanager
    def opened(_):
        yield made

    monkeypatch.setattr("penstock.app.services.wire.open_request", opened)
    return made


def test_rows_are_printed_in_the_format_that_is_asked_for(shop, call):
    asked = ("query", "select * from {{ ref('clean') }}", "--format", "csv")

    assert call(*asked) == (0, "csv: ('1',)\ncsv: ('ä',)\n", "")
    assert call(*asked, "--limit", "1") == (0, "csv: ('1',)\n", "")


def test_rows_are_written_to_a_file_which_says_the_format(shop, call, tmp_path):
    file = tmp_path / "rows.json"

    told = call("query", "select * from clean", "--output", str(file))
    as_json = call("query", "select * from clean", "--output", str(file), "--json")

    assert told == (0, f"wrote 2 rows to {file}\n", "")
    assert json.loads(as_json[1]) == {"file": str(file), "form": "json", "rows": 2}
    assert file.read_text("utf-8") == "json: ('1',)\njson: ('ä',)\n"


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--format", "csv", "--json"), '"message": "--format and --json exclude each other"'),
        (("--format", "parquet"), "option-conflict: --format parquet needs --output"),
        (("--output", "rows"), "bad-value: the name of rows says no format"),
        (("--output", "."), "bad-usage: Invalid value for '--output': File '.' is a directory"),
    ],
)
def test_flags_of_a_query_that_make_no_sense_are_refused(shop, call, flags, said):
    code, out, err = call("query", "select 1 as n", *flags)

    assert code == 2
    assert said in out + err
    assert shop.engine.asked == []
