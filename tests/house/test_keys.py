"""A key of a file is written in two places: where its section declares it, and where it is used."""

import ast

from house.source import SRC, files, found, place

READER = SRC / "project" / "files"
TABLES = 19  # a ratchet: tables of keys beside the sections


def test_keys_are_declared_by_sections_and_few_tables():
    tables = [
        place(path, node)
        for path in files()
        if READER not in path.parents
        for node in found(path, ast.Call)
        if isinstance(node.func, ast.Name) and node.func.id == "Keys"
    ]

    assert len(tables) <= TABLES, tables


def test_what_keys_mean_stands_in_no_document():
    assert [
        str(each) for each in (SRC / "project").rglob("*") if each.suffix in {".yml", ".json"}
    ] == []
