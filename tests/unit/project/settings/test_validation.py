from __future__ import annotations

import pytest


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        (
            "name: a\nthreads: 0\n",
            "2:10: error: bad-value: threads is 0; it must be an integer >= 1",
        ),
        (
            "name: a\nthreads: x\n",
            "2:10: error: bad-value: threads is 'x'; it must be an integer >= 1",
        ),
        ("name: my shop\n", "1:7: error: bad-name: 'my shop' cannot name a project"),
        ("threads: 1\n", "1:1: error: missing-key: 'name' is missing"),
        (
            "name: a\nname: b\n",
            "2:1: error: duplicate-key: key 'name' is written twice; the first is on line 1",
        ),
        (
            "name: [\n",
            "2:1: error: yaml-syntax: expected the node content, but found '<stream end>'",
        ),
        ("- 1\n", "1:1: error: bad-value: the document must be a mapping"),
        (
            "name: a\nmodels: [../b]\n",
            "2:10: error: path-outside-project: models: '../b' is outside the project",
        ),
        ("name: a\nmodels: [nope]\n", "2:10: error: bad-value: models: there is no folder 'nope'"),
        (
            "name: a\ntargets:\n  dev:\n    warehose: x\n",
            "4:5: error: unknown-key: unknown key 'warehose'",
        ),
        ("name: a\ndefaults:\n  tag: x\n", "3:3: error: unknown-key: unknown key 'tag'"),
        (
            "name: a\ndefaults:\n  'x/':\n    overwrite: no\n",
            "4:16: error: bad-value: overwrite is false; it must be one of all, partitions",
        ),
        (
            "name: a\nlease: {length: 60}\n",
            (
                "2:17: error: bad-value: lease.length is 60; "
                "it must be a duration such as 90m, 36h or 2 days"
            ),
        ),
        (
            "name: a\ntargets:\n  dev: {state: \"{{ env_var('URL') }}\"}\n",
            "3:16: error: missing-env-var: the environment variable URL is not set",
        ),
        (
            "name: a\ntargets:\n  dev: {spark: {conf: {db.password: [1]}}}\n",
            (
                "3:37: error: bad-value: targets.dev.spark.conf.db.password is a list; "
                "it must be a text"
            ),
        ),
        (
            "name: a\ntargets:\n  dev: {catalog: {password: hunter2}}\n",
            "3:18: error: bad-value: targets.dev.catalog is a mapping; it must be a text",
        ),
        (
            "name: a\ntargets:\n  dev: {spark: 'x://a:hunter2@b'}\n",
            "3:16: error: bad-value: targets.dev.spark is 'x://***@b'; it must be a mapping",
        ),
    ],
)
def test_mistakes_of_the_project_file(findings, text, finding):
    assert findings({"penstock.yml": text}) == [f"penstock.yml:{finding}"]
