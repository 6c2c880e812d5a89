"""Edits of YAML leave everything else as it was."""

from penstock.project.dbt.editing.yaml_edits import (
    YamlEdits,
    child,
    compose,
    items,
    pairs,
    plain,
    scalar,
)

TEXT = """\
# top
models:
  - name: a   # the a
    docs:
      show: true
    config:
      materialized: table
      file_format: delta
    # about columns
    columns:
      - {name: b, quote: true}
      - quote: false
        name: c
last: 1
"""


def editing(text=TEXT):
    root, problem = compose("a.yml", text)
    assert problem is None
    return YamlEdits(text, root), root


def key(node, name):
    return next(each for found, each, _ in pairs(node) if found == name)


def test_keys_go_with_their_lines_and_comments_stay():
    edits, root = editing()
    (model,) = items(child(root, "models"))
    first, second = items(child(model, "columns"))

    edits.delete(key(model, "docs"))
    edits.delete(key(child(model, "config"), "file_format"))
    edits.delete(key(first, "quote"))
    edits.delete(key(second, "quote"))

    assert (
        edits.result()
        == """\
# top
models:
  - name: a   # the a
    config:
      materialized: table
    # about columns
    columns:
      - {name: b}
      - name: c
last: 1
"""
    )


def test_a_mapping_that_loses_every_key_goes_with_its_own():
    edits, root = editing("a:\n  b: {x: 1}\n  c: 2\n")
    inner = child(child(root, "a"), "b")

    edits.delete(key(inner, "x"))

    assert edits.result() == "a:\n  c: 2\n"


def test_a_file_that_loses_everything_is_empty():
    edits, root = editing("a: 1\n")

    edits.delete(key(root, "a"))

    assert edits.result() == ""


def test_a_key_is_added_where_the_last_one_goes():
    edits, root = editing("a:\n  b: 1\n  c: 2\nd: 3\n")
    inner = child(root, "a")

    edits.delete(key(inner, "c"))
    edits.add(inner, "e", "4")

    assert edits.result() == "a:\n  b: 1\n  e: 4\nd: 3\n"


def test_keys_are_lifted_with_their_layout():
    edits, root = editing("a:\n  config:\n    x: 1  # one\n    y:\n      z: 2\n  b: 3\n")
    inner = child(root, "a")

    edits.lift(key(inner, "config"), child(inner, "config"))

    assert edits.result() == "a:\n  x: 1  # one\n  y:\n    z: 2\n  b: 3\n"


def test_a_key_of_a_flow_mapping_is_added_before_its_end():
    edits, root = editing("a: {b: 1}\nc: {}\n")

    edits.add(child(root, "a"), "d", "2")
    edits.add(child(root, "c"), "e", "3")

    assert edits.result() == "a: {b: 1, d: 2}\nc: {e: 3}\n"


def test_values_are_written_so_that_yaml_reads_them_back():
    values = ["a b", "yes", "1", "a: b", True, None, 1.5, ["x"], {"k": "v"}, "ünï\n"]

    for value in values:
        _, root = editing(f"a: {scalar(value)}\n")
        assert plain(child(root, "a")) == value
