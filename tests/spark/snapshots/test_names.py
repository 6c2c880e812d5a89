"""The names of the system columns, and the three questions that they answer."""

import pytest

from fakes.history_story import T1, T2
from penstock.app.request import SnapshotRequest

QUERY = "select user_id, email from {{ source('raw', 'users') }}"


@pytest.mark.matrix
def test_system_columns_have_the_names_of_the_project_or_of_the_model(place) -> None:
    with (place.root / "penstock.yml").open("a") as file:
        file.write("system_columns: {prefix: _ff_}\n")
    config = {"materialized": "snapshot", "strategy": "check", "check_cols": "email"}
    config["unique_key"] = "user_id"
    place.source("users", "user_id INT, email STRING")
    place.insert("users", "(42, 'a@x'), (43, 'b@x')")
    place.model("users_clean_snapshot", QUERY, **config)
    pascal = {"prefix": "dlf_", "case": "pascal"}
    place.model("customers", QUERY, **config, system_columns=pascal)
    place.run(as_of=T1, snapshot=SnapshotRequest())
    place.sql(f"UPDATE {place.landing('users')} SET email = 'A@x' WHERE user_id = 42")
    place.run(as_of=T2, snapshot=SnapshotRequest())
    session = place.spark.newSession()
    for name in ("users_clean_snapshot", "customers"):
        session.sql(f"CREATE TEMP VIEW {name} AS SELECT * FROM {place.table(name)}")

    def emails(query: str) -> list[str]:
        return [row["email"] for row in session.sql(query).collect()]

    current = "select * from users_clean_snapshot where _ff_is_current = true"
    one = "select * from users_clean_snapshot where user_id = 42 order by _ff_valid_from"
    past = """
        select * from users_clean_snapshot
        where _ff_valid_from <= timestamp '2024-05-15'
          and ( _ff_valid_to is null or _ff_valid_to > timestamp '2024-05-15' )
    """
    assert sorted(emails(current)) == ["A@x", "b@x"]
    assert emails(one) == ["a@x", "A@x"]
    assert sorted(emails(past)) == ["a@x", "b@x"]
    assert session.table("customers").columns == [
        "user_id",
        "email",
        "dlf_ValidFrom",
        "dlf_ValidTo",
        "dlf_IsCurrent",
    ]
