"""`destination:`: the table, how it is cut into partitions and how it lies (spec/drift.md §1.2)."""

from __future__ import annotations

from penstock.core.findings import Finding, Location
from penstock.core.partition import Grain, Grid
from penstock.project.files import check_name
from penstock.project.trees.nodes import Node
from penstock.project.trees.sheet import Keys, Sheet, open_sheet
from penstock.project.versioned.given import Destination

_ALIASES = {"schema": "dataset", "name": "table"}
DESTINATION = Keys(
    ("dataset", "table", "partition", "cluster", "layout"), ("dataset", "table"), _ALIASES
)
_BOUNDS = ("start", "end", "interval")
PARTITION = Keys(("field", "type", *_BOUNDS), ("field",))
_GRAINS = tuple(grain.value for grain in Grain if grain is not Grain.WHOLE)
_MOST = 4
LAYOUTS = ("auto", "partitioned", "clustered")


def read_destination(node: Node, findings: list[Finding]) -> Destination:
    """Read where the rows go."""
    sheet = open_sheet(node, DESTINATION, "destination", findings)
    dataset, table = sheet.text("dataset"), sheet.text("table")
    for what, name, key in (("schema", dataset, "dataset"), ("table", table, "table")):
        bad = check_name(what, name, sheet.place(key)) if name else None
        findings += [bad] if bad else []
    places = {key: sheet.place(key) for key in ("cluster",)}
    cluster = tuple(str(item.value) for item in sheet.texts("cluster"))
    if len(cluster) > _MOST:
        sentence = f"cluster has {len(cluster)} columns; Delta clusters by at most {_MOST}"
        sheet.report("cluster", "cluster-too-many", sentence, "keep those that queries filter by")
    layout = sheet.word("layout", LAYOUTS) or "auto"
    written = sheet.find("partition")
    if written is None:
        if layout == "partitioned":
            sheet.bad("layout", "auto or clustered where there is no partition")
        return Destination(dataset, table, cluster=cluster, layout=layout, places=places)
    partition = open_sheet(written, PARTITION, "destination.partition", findings)
    grid = _grid(partition)
    places |= _places(partition)
    return Destination(
        dataset, table, partition.text("field"), grid, cluster, layout, places=places
    )


def _places(partition: Sheet) -> dict[str, Location]:
    return {key: partition.place(key) for key in ("field", "type")}


def _grid(sheet: Sheet) -> Grid:
    grain = Grain(sheet.word("type", _GRAINS) or "DAY")
    if grain is not Grain.RANGE:
        for key in _BOUNDS:
            if sheet.find(key):
                sheet.bad(key, f"left out: {grain} has no {key}", "it belongs to type: RANGE")
        return Grid(grain)
    start, end = sheet.number("start"), sheet.number("end")
    interval = sheet.number("interval", 1)
    for key in _BOUNDS:
        if key not in sheet.members:
            sentence = f"{key!r} is missing"
            sheet.findings.append(Finding(sheet.node.where, "missing-key", sentence))
    if start is None or end is None or interval is None:
        return Grid()
    if end <= start:
        sheet.bad("end", f"an integer > start, which is {start}")
        return Grid()
    return Grid(Grain.RANGE, start, end, interval)
