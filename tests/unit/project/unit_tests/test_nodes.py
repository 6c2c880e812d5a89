from penstock.project.unit_tests.definition import CellKind
from penstock.project.unit_tests.nodes import read_nodes


def test_scalars_keep_the_signs_they_are_written_with() -> None:
    node, findings = read_nodes("t.yml", "[1.50, '1', ~, 0o7, yes, 2024-01-01, 10:30, 1_0, .nan]")

    assert findings == ()
    assert [(item.text, item.kind) for item in node.items] == [
        ("1.50", CellKind.NUMBER),
        ("1", CellKind.TEXT),
        ("~", CellKind.NULL),
        ("0o7", CellKind.TEXT),
        ("yes", CellKind.BOOLEAN),
        ("2024-01-01", CellKind.DATE),
        ("10:30", CellKind.TEXT),
        ("1_0", CellKind.TEXT),
        (".nan", CellKind.NUMBER),
    ]


def test_anchors_and_merges_are_followed_but_not_without_end() -> None:
    node, _ = read_nodes("t.yml", "a: &a {x: 1}\nb: {<<: *a, y: 2}\n")
    lines = [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 8)]
    bomb = "\n".join(["a0: &a0 [x]", *lines])

    assert {name: inner.text for name, inner in node.members["b"].members.items()} == {
        "x": "1",
        "y": "2",
    }
    assert [finding.code for finding in read_nodes("t.yml", bomb)[1]] == ["yaml-syntax"]
