"""Layouts over five runs, of which test_schema.py has the first two."""

import pytest

from fakes.snapshot_cases import CK, Cases, Told
from penstock.engine.log.delta_log import DeltaLog

pytestmark = pytest.mark.matrix
CASES = Cases()

RUNS = ["1 a NL, 2 z DE", "1 b NL, 2 z DE", "1 c NL, 2 z DE", "1 d NL, 2 z DE", "1 e NL, 2 y NL"]
ROWS = [
    "1 a NL [T1, T2)",
    "1 b NL [T2, T3)",
    "1 c NL [T3, T4)",
    "1 d NL [T4, T5)",
    "1 e NL [T5, )",
    "2 z DE [T1, T5)",
    "2 y NL [T5, )",
]


def laid(name: str, **config: object) -> str:
    return CASES.add(name, CK | config, *RUNS, columns="id INT, value STRING, country STRING")


parted = laid(
    "parted",
    partition_by="country",
    description="who lives where",
    table_properties={"delta.enableDeletionVectors": "false"},
)
clustered = laid("clustered", cluster_by="country", description="who lives where")


def test_layout_comment_and_properties_stay_over_five_runs(runs) -> None:
    warehouse = runs.place.root / "warehouse" / "m"
    facts = [DeltaLog().facts(str(warehouse / name)) for name in (parted, clustered)]

    assert [each.partition_by for each in facts] == [("_ps_is_current", "country"), ()]
    assert [each.cluster_by for each in facts] == [(), ("_ps_valid_to", "country")]
    assert [each.comment for each in facts] == ["who lives where"] * 2
    assert [each.properties["delta.enableDeletionVectors"] for each in facts] == ["false", "true"]


@pytest.mark.parametrize("name", [parted, clustered])
def test_the_layout_does_not_change_the_rows(runs, name) -> None:
    moved = {"source_rows": 2, "opened_changed": 2, "closed": 2}

    assert runs.told(name, 5) == Told("success", 4, ROWS, moved)
