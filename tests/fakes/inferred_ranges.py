"""What a partition reads of a few inputs, as inferred from SQL, in words."""

from __future__ import annotations

from penstock.core.names import InputKind, InputName
from penstock.core.partitions.mapping import spans
from penstock.core.partitions.partition import FIRST, LAST, Grain, Grid
from penstock.core.query import mention
from penstock.project.input_ranges.infer import infer
from penstock.project.input_ranges.inputs import Found, InputShape

DAYS = Grid(Grain.DAY)
HOURS = Grid(Grain.HOUR)
MONTHS = Grid(Grain.MONTH)
BUCKETS = Grid(Grain.RANGE, 0, 300, 100)

DAILY = InputName(InputKind.MODEL, "daily")
SHARDS = InputName(InputKind.MODEL, "shards")
USERS = InputName(InputKind.MODEL, "users")
RECENT = InputName(InputKind.MODEL, "recent")
NEWEST = InputName(InputKind.MODEL, "newest")
EVENTS = InputName(InputKind.SOURCE, "raw.events")
INPUTS = {"daily": DAILY, "shards": SHARDS, "users": USERS, "events": EVENTS, "recent": RECENT}


def linked(sql: str) -> str:
    """Write tokens for `{daily}` and so on, with the alias that linking gives; $ is the date."""
    sql = sql.replace("$", "@partition_date")
    tokens = {name: mention(each, alias=name) for name, each in INPUTS.items()}
    return sql.format(**tokens, newest=mention(NEWEST, alias="newest"))


SHAPES = {
    DAILY: InputShape("date", "date", None, DAYS),
    SHARDS: InputShape("bucket", "int", None, BUCKETS),
    USERS: InputShape(),
    EVENTS: InputShape(),
    RECENT: InputShape(view=(linked("select date, total as n from {daily} where total > 0"),)),
    NEWEST: InputShape(view=(linked("select date as day, n from {recent}"),)),
}


def read(sql: str, key: str = "2024-12-03", grid: Grid = DAYS) -> dict[str, list[str] | str]:
    """Infer, and give the range of every input for a partition; a word where there is none."""
    span = grid.span(grid.parse(key))
    result: dict[str, list[str] | str] = {}
    for name, found in infer((linked(sql),), grid, SHAPES).items():
        if found.outcome is not Found.INFERRED:
            result[name.name] = found.outcome.value
            continue
        ranges = spans(found.mapping, span, SHAPES[name].grid)
        result[name.name] = [written(low, high, grid) for low, high in ranges]
    return result


def written(low: int, high: int, grid: Grid) -> str:
    """Write a range with the last day in it, or with its last integer."""
    if grid.grain is Grain.RANGE:
        return f"{low}..{high - 1}"
    first = "" if low == FIRST else DAYS.key(DAYS.at(low))
    return f"{first}..{'' if high == LAST else DAYS.key(DAYS.at(high - 1))}"
