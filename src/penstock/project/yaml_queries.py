"""The queries of `snapshots:` entries, as the texts of model files of their own."""

from __future__ import annotations

import hashlib
import re

from penstock.project.files import Content
from penstock.project.parsed import YamlFile, place_key
from penstock.project.values import Plain, list_of, mapping_of

QUERY_KEYS = ("relation", "sql")
_TABLE = re.compile(r"[\w.-]+|(?:`[^`]+`\.?)+")


def queries_of(file: YamlFile) -> list[Content]:
    """Give the query of every entry that has exactly one, under the key of `entry_key`.

    Newlines in front put each on its lines of the YAML file, so that whoever names a line of the
    query names a line of that file.
    """
    entries = list_of(mapping_of(file.tree).get("snapshots"))
    found = []
    for index, entry in enumerate(mapping_of(item) for item in entries):
        given = [key for key in QUERY_KEYS if entry.get(key) is not None]
        text = _query(given[0], entry[given[0]]) if len(given) == 1 else ""
        if text:
            line = file.place("snapshots", index, given[0]).line
            data = ("\n" * (line - 1) + text).encode("utf-8", "surrogatepass")
            key = entry_key(file, index)
            found.append(Content(key, data, hashlib.sha256(data).hexdigest()))
    return found


def entry_key(file: YamlFile, index: int) -> str:
    """Give the key under which the query of an entry is parsed and kept."""
    return place_key((file.path, "snapshots", index))


def _query(key: str, value: Plain) -> str:
    if not isinstance(value, str) or not value.strip():
        return ""
    if key == "sql":
        return value
    text = value.strip()
    is_sql = "{{" in text or _TABLE.fullmatch(text)
    return f"select * from {text}" if is_sql else f"select * from {{{{ {text} }}}}"
