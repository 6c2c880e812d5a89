from __future__ import annotations

import pytest

from fakes.versioned_cases import daily


@pytest.mark.parametrize("name", ["daily", "mart.daily", "mart.other", "MART.Daily"])
def test_depends_on_takes_names_and_tables(load, name):
    files = daily("table: daily", "table: other")
    reader = files["models/daily.yaml"].replace("name: daily", "name: reader")
    files["models/reader.yaml"] = (
        reader.replace("table: other", "table: reader") + f"depends_on: [{name}]\n"
    )

    assert load(files).models["reader"].depends_on == ("daily",)
