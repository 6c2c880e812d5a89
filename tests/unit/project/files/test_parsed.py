from __future__ import annotations

from penstock.project.files.parsed import read_sql, write_sql
from penstock.project.sql.sql_file import parse_plain_sql


def test_the_cache_gives_bodies_back():
    file = parse_plain_sql("q.yaml", "select @run_date from t", 7)

    assert read_sql("q.yaml", (), write_sql(file)) == file
