"""Law 3 on many real shapes of SQL; corpus/*.txt says what an edit is.

A block is a query and its edits, `old => new`, each of which means something else.
"""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from fakes.sql_layout import relaid
from penstock.project.sql.bodies import canonical_as_written
from penstock.project.sql.canonical import canonical_of, canonical_sql
from penstock.project.sql.sql_file import parse_plain_sql

FOLDER = Path(__file__).parent / "corpus"


def blocks() -> list[list[str]]:
    """Return every query with its edits."""
    texts = (path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.txt")))
    return [block.splitlines() for text in texts for block in text.strip().split("\n\n")]


QUERIES = [block[0] for block in blocks()]
EDITS = [(block[0], edit) for block in blocks() for edit in block[1:]]


def test_the_corpus_is_large():
    assert len(set(QUERIES)) == len(QUERIES) >= 200
    assert len(EDITS) >= 400


@pytest.mark.parametrize("query", QUERIES)
def test_layout_case_and_quotes_change_no_checksum(query):
    expected = canonical_sql(query)

    assert expected is not None
    assert "\n" not in expected
    for seed in range(5):
        assert canonical_sql(relaid(query, Random(seed))) == expected  # noqa: S311  a shuffle


@pytest.mark.parametrize("query", QUERIES)
def test_the_canonical_form_is_its_own(query):
    once = canonical_of(query)

    assert canonical_of(once) == once


@pytest.mark.parametrize(("query", "edit"), EDITS)
def test_an_edit_changes_the_checksum(query, edit):
    old, new = edit.split(" =>", 1)
    assert old in query

    assert canonical_of(query.replace(old, new.strip(), 1)) != canonical_of(query)


@pytest.mark.parametrize("query", QUERIES)
def test_what_the_cache_keeps_is_enough_for_the_canonical_form(query):
    (branch,) = parse_plain_sql("q.sql", query).branches

    assert canonical_as_written(branch, query) == canonical_of(query)
