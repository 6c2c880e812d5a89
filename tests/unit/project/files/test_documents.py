from __future__ import annotations


def test_hostile_yaml_is_a_finding(findings):
    bomb = "a: &a [1,1,1,1,1,1,1,1,1,1]\n" + "".join(
        f"{new}: &{new} [{','.join([f'*{old}'] * 10)}]\n"
        for old, new in zip("abcdef", "bcdefg", strict=True)
    )

    assert findings({"models/bomb.yml": bomb, "models/loop.yml": "a: &a [*a]\n"}) == [
        "models/bomb.yml:1:1: error: yaml-syntax: the document unfolds to more than 500,000 nodes",
        "models/loop.yml:1:1: error: yaml-syntax: the document unfolds to more than 500,000 nodes",
    ]
