from __future__ import annotations


def test_yaml_mistakes_have_line_and_column(findings):
    files = {
        "models/m.yml": "models:\n  - name: a\n    descripton: x\n    name: b\n",
        "models/n.yml": "sources:\n  - name: raw\n    tables: 4\n",
        "models/o.yml": "models: [\n",
        "models/p.yml": "name: p\ndestination: {table: p}\nversions: []\n",
        "models/a.sql": "select 1",
    }

    assert findings(files) == [
        "models/m.yml:3:5: error: unknown-key: unknown key 'descripton'",
        (
            "models/m.yml:4:5: error: duplicate-key: "
            "key 'name' is written twice; the first is on line 2"
        ),
        "models/n.yml:3:13: error: bad-value: sources.tables is 4; it must be a list of tables",
        "models/o.yml:2:1: error: yaml-syntax: expected the node content, but found '<stream end>'",
        "models/p.yml:2:14: error: missing-key: 'dataset' is missing",
        "models/p.yml:3:1: error: empty-versions: the model has no version",
    ]


def test_yaml_beside_a_model_that_is_not_there_is_a_finding(findings):
    files = {"models/a.yml": "models:\n  - name: orders_\n", "models/orders.sql": "select 1"}

    assert findings(files, hints=True) == [
        (
            "models/a.yml:2:5: error: unknown-model: no model is called 'orders_'\n"
            "  hint: did you mean 'orders'?"
        )
    ]
