"""Records of partitions in memory."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from penstock.core.inputs import Pin
from penstock.core.model import Fingerprint
from penstock.core.records import (
    LeastPin,
    PartitionGroup,
    PartitionRun,
    PartitionsRecord,
    Status,
)
from penstock.core.token import pin_parts
from penstock.state.memory_picture import PartitionRow, Picture
from penstock.state.memory_replay import pictures
from penstock.state.memory_sums import model_records
from penstock.state.memory_tables import MemoryTables, MemoryTransactions
from penstock.state.partition_rules import joined, least_pin

Marks = Mapping[tuple[str, Fingerprint | None], int]


class MemoryPartitionRecords:
    """Reads what is known of partitions."""

    def __init__(self, transactions: MemoryTransactions) -> None:
        self._transactions = transactions

    def partitions(self) -> Mapping[str, PartitionsRecord]:
        """Give what is known of every model that has partitions: groups, never rows."""
        with self._transactions.read() as tables:
            records, marks = model_records(tables), _numbers(tables)
            found = {n: p for n, p in sorted(pictures(tables).items()) if p.is_cut}
        result = {}
        for name, picture in found.items():
            pins = _step_pins(picture)
            result[name] = PartitionsRecord(
                model=name,
                table_id=records[name].table_id,
                groups=_groups(name, picture, marks),
                pins=_least_pins(pins),
                steps=len(pins),
                last_step_seq=records[name].last_step_seq,
                executed_at=records[name].executed_at,
                grid=picture.grid,
            )
        return result

    def marks(self) -> Mapping[int, Fingerprint]:
        """Give the fingerprints that groups and runs name by number."""
        with self._transactions.read() as tables:
            return {n: mark for (_, mark), n in _numbers(tables).items() if mark}

    def runs(self, model: str) -> tuple[PartitionRun, ...]:
        """Give the partitions of one model, neighbours of which the same is known together."""
        with self._transactions.read() as tables:
            picture, marks = pictures(tables).get(model, Picture()), _numbers(tables)
        rows = sorted(picture.rows.items())
        return joined((n, _known(row, marks.get((model, row.mark), 0))) for n, row in rows)

    def step_pins(self, model: str) -> Mapping[int, Mapping[str, Pin]]:
        """Give the pins of the steps that built a model's partitions as they are now."""
        with self._transactions.read() as tables:
            return _step_pins(pictures(tables).get(model, Picture()))


def _numbers(tables: MemoryTables) -> Marks:
    """Give the fingerprints of each model numbers, in the order in which they came."""
    found = dict.fromkeys(
        (step.intent.model, step.intent.fingerprint) for step in tables.steps.values()
    )
    return {key: number for number, key in enumerate(found, 1)}


def _groups(model: str, picture: Picture, marks: Marks) -> tuple[PartitionGroup, ...]:
    rows: dict[tuple[int, Status], dict[int, PartitionRow]] = defaultdict(dict)
    for number, row in picture.rows.items():
        rows[marks.get((model, row.mark), 0), row.status][number] = row
    return tuple(
        PartitionGroup(
            fingerprint=mark,
            status=status,
            count=len(found),
            low=min(found),
            high=max(found),
            commit_high=max(_told(row.commit_version for row in found.values()), default=None),
            settled_low=min(_told(row.settled_version for row in found.values()), default=None),
            unsettled=sum(1 for row in found.values() if row.mark and row.settled_version is None),
        )
        for (mark, status), found in sorted(rows.items())
    )


def _told(versions: Iterable[int | None]) -> list[int]:
    return [version for version in versions if version is not None]


def _step_pins(picture: Picture) -> dict[int, dict[str, Pin]]:
    built = {row.step_seq for row in picture.rows.values() if row.step_seq}
    pins = {
        step.intent.step_seq: {
            given.input: given.pin
            for given in sorted(step.intent.inputs, key=lambda given: given.input)
        }
        for step in picture.steps
    }
    return {number: pins[number] for number in sorted(built)}


def _least_pins(pins: Mapping[int, Mapping[str, Pin]]) -> dict[str, LeastPin]:
    told: dict[str, list[tuple[str, str, int, int, int]]] = defaultdict(list)
    for number, of_step in pins.items():
        for name, pin in of_step.items():
            kind, text, version = pin_parts(pin)
            told[name].append((kind, text, version, 1, number))
    return {name: least_pin(found) for name, found in sorted(told.items())}


def _known(row: PartitionRow, mark: int) -> PartitionRun:
    return PartitionRun(
        low=0,
        high=0,
        status=row.status,
        fingerprint=mark,
        step_seq=row.step_seq,
        last_step_seq=row.last_step_seq,
        commit_version=row.commit_version,
        settled_version=row.settled_version,
        holds_rows=bool(row.step_seq and row.written[0]),
        executed_at=row.executed_at,
    )
