from penstock.project.unit_tests.definition import CellKind, kind_of
from penstock.project.unit_tests.load import written_node


def test_scalars_keep_the_signs_they_are_written_with() -> None:
    node, findings = written_node("t.yml", "[1.50, '1', ~, 0o7, yes, 2024-01-01, 10:30, 1_0, .nan]")

    assert findings == ()
    assert [(item.plain, kind_of(item)) for item in node.items] == [
        ("1.50", CellKind.NUMBER),
        ("1", CellKind.TEXT),
        (None, CellKind.NULL),
        ("0o7", CellKind.TEXT),
        ("yes", CellKind.BOOLEAN),
        ("2024-01-01", CellKind.DATE),
        ("10:30", CellKind.TEXT),
        ("1_0", CellKind.TEXT),
        (".nan", CellKind.NUMBER),
    ]


def test_anchors_and_merges_are_followed_but_not_without_end() -> None:
    node, _ = written_node("t.yml", "a: &a {x: 1}\nb: {<<: *a, y: 2}\n")
    lines = [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 8)]
    bomb = "\n".join(["a0: &a0 [x]", *lines])

    assert node.members["b"].plain == {"x": "1", "y": "2"}
    assert [finding.code for finding in written_node("t.yml", bomb)[1]] == ["yaml-syntax"]
