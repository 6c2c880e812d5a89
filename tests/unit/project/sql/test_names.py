from __future__ import annotations

import pytest

from fakes.versioned_cases import daily
from penstock.project.sql.names import called


@pytest.mark.parametrize("name", ["daily", "mart.daily", "mart.other", "MART.Daily"])
def test_depends_on_takes_names_and_tables(load, name):
    files = daily("table: daily", "table: other")
    reader = files["models/daily.yaml"].replace("name: daily", "name: reader")
    files["models/reader.yaml"] = (
        reader.replace("table: other", "table: reader") + f"depends_on: [{name}]\n"
    )

    assert load(files).models["reader"].depends_on == ("daily",)


@pytest.mark.parametrize(
    ("written", "call"),
    [
        (" `mart`.daily ", ("", ["mart.daily"])),
        ("{{ ref( 'a' ) }}", ("ref", ["a"])),
        ("source(\"raw\", 'b')", ("source", ["raw", "b"])),
        ("ref('a', v=1)", ("ref", ["a"])),
        ("ref('')", ("ref", [""])),
        ("refer('a')", ("", ["refer('a')"])),
    ],
)
def test_a_call_is_told_from_a_name_by_the_texts_that_it_is_called_with(written, call):
    assert called(written) == call
