"""The names that a command leaves for shells."""

import datetime as dt
import json
import os

from penstock.app.services.files import NAMES
from penstock.app.services.wire import Where, open_project

TODAY = dt.datetime.now(dt.UTC).date().isoformat()

FILES = {
    "penstock.yml": "name: shop\nversion: 1\ntargets: {dev: {}, prod: {warehouse: w}}\n",
    "models/orders.sql": "{{ config(tags=['daily']) }} select 1 as id",
    "models/stats.yaml": """
name: stats
destination: {dataset: marts, table: stats, partition: {field: day, type: DAY}}
versions:
  - {version: 1, effective_from: 2024-01-01, sql: stats.sql, schema: [{name: day, type: DATE}]}
""",
    "models/stats.sql": "select cast(@partition_date as date) as day",
}


def project(root):
    for name, text in FILES.items():
        path = root / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    open_project(Where(root))
    return json.loads((root / NAMES).read_text())


def test_the_names_of_a_project_are_there_after_a_command(tmp_path):
    names = project(tmp_path)

    assert names["models"] == {"orders": "", "stats": "DAY"}
    assert names["selectors"] == ["kind:sql", "strategy:partition", "strategy:view", "tag:daily"]
    assert names["targets"] == ["dev", "prod"]
    assert len(names["keys"]["DAY"]) == 31
    assert names["keys"]["DAY"][0] == TODAY


def test_names_that_are_current_are_not_written_again(tmp_path):
    project(tmp_path)
    os.utime(tmp_path / NAMES, (0, 0))
    project(tmp_path)

    assert (tmp_path / NAMES).stat().st_mtime == 0


def test_the_names_are_readable_by_their_owner_alone(tmp_path):
    project(tmp_path)

    assert (tmp_path / NAMES).stat().st_mode & 0o777 == 0o600


def test_names_that_hold_a_secret_are_not_written(tmp_path, monkeypatch):
    monkeypatch.setenv("PENSTOCK_SECRET_WORD", "daily-secret-word")
    tagged = "{{ config(tags=[env_var('PENSTOCK_SECRET_WORD')]) }} select 1 as id"
    monkeypatch.setitem(FILES, "models/orders.sql", tagged)
    (tmp_path / "models").mkdir()
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    open_project(Where(tmp_path))

    assert not (tmp_path / NAMES).exists()
