"""What takes long to compute: highlighted code, HTML, columns and mappings; on all cores if asked.

Each task is a pure function of its arguments. Its module is imported when there is something to do:
a site that did not change needs neither a parser nor a highlighter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, cast

from penstock.core.model import InputMapping
from penstock.core.partitions.mapping import reading
from penstock.core.partitions.partition import Grain, Grid
from penstock.core.partitions.ranges import Ranges, numbers
from penstock.project.processes import answer, on_all_cores, shared

if TYPE_CHECKING:
    from penstock.app.artifacts.manifest import Json

Task = tuple[str, *tuple[object, ...]]
"""The name of a function in `_FUNCTIONS`, and its arguments."""
_WORTH_A_PROCESS = 100  # tasks; a process starts in the time that some dozens take
Row = list[int]
"""The fields of a `MappedRange`."""
MOST_MAPPED = 5_000
"""How many ranges of a mapping are written; one that takes more is left out."""


def do_tasks(tasks: Sequence[Task]) -> list[Json]:
    """Return the result of each task."""
    return cast("list[Json]", [_FUNCTIONS[name](*given) for name, *given in tasks])


def do_on_all_cores(tasks: Sequence[Task]) -> list[Json]:
    """Return the result of each task; many are done by several processes."""
    shares = shared(tasks, _WORTH_A_PROCESS)
    found = on_all_cores(shares, do_tasks, lambda share: (__name__, (share,)))
    results: list[Json] = [None] * len(tasks)
    for start, values in enumerate(found):
        results[start :: len(shares)] = values
    return results


def serve() -> None:
    """Do the tasks in stdin."""
    answer(do_tasks)


def _code(language: str, text: str) -> Json:
    from penstock.app.site.markup import code_lines

    return [*code_lines(text, language)]


def _markdown(text: str) -> Json:
    from penstock.app.site.markup import markdown

    return markdown(text)


def _columns(sql: str, schemas: dict[str, dict[str, str]]) -> Json:
    from penstock.project.sql.lineage import column_lineage

    found = column_lineage(sql, schemas)
    return {column: [[*origin] for origin in origins] for column, origins in found.items()}


def mapped_ranges(
    mapping: InputMapping, grid: Grid, above: Grid, partitions: Ranges
) -> list[Row] | None:
    """Return what each partition reads, joined where that moves along; None for too many."""
    read, found = reading(mapping.mapping, above), list[Row]()
    first, last = above.domain
    for number in numbers(partitions):
        spans = read((grid.lower(number), grid.upper(number)))
        if not spans:
            continue
        low, high = max(above.at(spans[0][0]), first), min(above.at(spans[-1][1] - 1), last)
        if (low, high) == (first, last) and above.grain is not Grain.RANGE:
            return []
        if not found or not _extend(found[-1], number, low, high):
            found.append([number, number, low, high, False])
        if len(found) > MOST_MAPPED:
            return None
    return found


def _extend(row: Row, number: int, low: int, high: int) -> bool:
    """Join a partition with those below it, if it reads the same or what follows."""
    begin, end, first, last, moves = row
    steps = number - begin
    if end + 1 != number:
        return False
    moved, stays = (first + steps, last + steps) == (low, high), (first, last) == (low, high)
    if not (moved if moves else stays or (moved and steps == 1)):
        return False
    row[1], row[4] = number, moved and not stays
    return True


_FUNCTIONS: dict[str, Callable[..., object]] = {
    "code": _code,
    "columns": _columns,
    "mapping": mapped_ranges,
    "markdown": _markdown,
}
