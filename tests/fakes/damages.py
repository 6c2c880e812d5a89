"""Random damages of a state: to the bytes of a SQLite file, to its cells, to a document of it."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from random import Random
from typing import Any

PAGE = 4096
CELLS = (
    None,
    "",
    "DONE",
    "{",
    "[]",
    "{}",
    "null",
    "7",
    "[[1]]",
    '{"a":1}',
    "2024-13-45",
    "2024-01-01 25:00:00",
    "BIGINT x",
    "day of rest",
    "\N{GREEK CAPITAL LETTER OMEGA}",
    b"\xff\xfe\x00",
    -1,
    2**62,
    3.5,
)


def flip_bytes(file: Path, chance: Random) -> None:
    """Change a few bytes somewhere."""
    content = bytearray(file.read_bytes())
    for _ in range(chance.randint(1, 12)):
        content[chance.randrange(len(content))] = chance.randrange(256)
    file.write_bytes(content)


def write_over(file: Path, chance: Random) -> None:
    """Write noise over a stretch."""
    content = bytearray(file.read_bytes())
    start, length = chance.randrange(len(content)), chance.randint(16, 9000)
    content[start : start + length] = chance.randbytes(len(content[start : start + length]))
    file.write_bytes(content)


def empty_pages(file: Path, chance: Random) -> None:
    """Write zeros over pages."""
    content = bytearray(file.read_bytes())
    for _ in range(chance.randint(1, 4)):
        start = chance.randrange(len(content) // PAGE) * PAGE
        content[start : start + PAGE] = bytes(PAGE)
    file.write_bytes(content)


def swap_pages(file: Path, chance: Random) -> None:
    """Put two pages in each other's place."""
    content = bytearray(file.read_bytes())
    one, two = (chance.randrange(len(content) // PAGE) * PAGE for _ in range(2))
    first, second = content[one : one + PAGE], content[two : two + PAGE]
    content[one : one + PAGE], content[two : two + PAGE] = second, first
    file.write_bytes(content)


def cut_off(file: Path, chance: Random) -> None:
    """Lose the end."""
    content = file.read_bytes()
    file.write_bytes(content[: chance.randrange(len(content))])


def spoil_cells(file: Path, chance: Random) -> None:
    """Put what does not belong there into cells of a column."""
    table, column = _column(file, chance)
    _change(file, f'UPDATE OR IGNORE "{table}" SET "{column}" = ?', chance.choice(CELLS))


def drop_column(file: Path, chance: Random) -> None:
    """Lose a column, or its name."""
    table, column = _column(file, chance)
    with suppress(sqlite3.OperationalError):
        _change(file, f'ALTER TABLE "{table}" RENAME COLUMN "{column}" TO "gone"')


def drop_table(file: Path, chance: Random) -> None:
    """Lose a table."""
    _change(file, f'DROP TABLE "{chance.choice(_tables(file))}"')


def lose_rows(file: Path, chance: Random) -> None:
    """Lose the rows of a table."""
    _change(file, f'DELETE FROM "{chance.choice(_tables(file))}"')


DAMAGES = (
    flip_bytes,
    write_over,
    empty_pages,
    swap_pages,
    cut_off,
    spoil_cells,
    drop_column,
    drop_table,
    lose_rows,
)


def spoil_document(text: str, chance: Random) -> str:
    """Damage an exported document: its text, or a value at a random place of it."""
    if chance.random() < 0.25:
        start = chance.randrange(len(text))
        noise = chance.choice(["", "null", "[" * 3000, '"', "\\ud800", "9" * 400, "{}"])
        return text[:start] + noise + text[start + chance.randint(0, 40) :]
    document = json.loads(text)
    for _ in range(chance.randint(1, 2)):
        _spoil_value(document, chance)
    return json.dumps(document)


def _spoil_value(document: Any, chance: Random) -> None:
    inside, place = document, chance.choice([*document, *["tables"] * 20 * ("tables" in document)])
    while isinstance(inside[place], dict | list) and inside[place] and chance.random() < 0.85:
        inside = inside[place]
        place = chance.choice(list(inside if isinstance(inside, dict) else range(len(inside))))
    if chance.random() < 0.2:
        del inside[place]
        return
    bad = [each for each in CELLS if not isinstance(each, bytes)]
    inside[place] = chance.choice([*bad, True, 10**30, [], {}, [None], {"a": None}, "\ud800"])


def _tables(file: Path) -> list[str]:
    with closing(sqlite3.connect(file)) as database:
        found = database.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY 1")
        return [name for (name,) in found]


def _column(file: Path, chance: Random) -> tuple[str, str]:
    table = chance.choice(_tables(file))
    with closing(sqlite3.connect(file)) as database:
        found = [row[1] for row in database.execute(f'PRAGMA table_info("{table}")')]
    return table, chance.choice(found)


def _change(file: Path, statement: str, *values: object) -> None:
    with closing(sqlite3.connect(file)) as database:
        database.execute("PRAGMA foreign_keys = OFF")
        database.execute("PRAGMA writable_schema = ON")  # a schema without NOT NULL
        database.execute(
            "UPDATE sqlite_master SET sql = replace(sql, ' NOT NULL', '') WHERE type = 'table'"
        )
        database.commit()
    with closing(sqlite3.connect(file)) as database:
        database.execute("PRAGMA foreign_keys = OFF")
        for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'view'"):
            database.execute(f'DROP VIEW "{name}"')
        database.execute(statement, values)
        database.commit()
