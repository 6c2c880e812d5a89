"""One function, many models: names, inputs, values, code, and what is wrong with them."""

import enum

import pytest

from penstock.core.errors import ProjectError
from penstock.project.python.declare import Registry
from penstock.project.python.decorators import Decorators

PLACE = "models/m/pipeline.py"
LOGS = """
        @source
        def logs(spark): ...
"""


class Land(enum.Enum):
    NL = "nl"
    BE = "be"


@pytest.fixture
def app():
    return Decorators(Registry())


def test_a_model_is_made_of_each_combination_and_reads_that_of_its_values(files):
    files.models(f"""{LOGS}
        @model.over(country=["nl", "be"])
        def clean(country: str, logs): ...

        @incremental_table(time_column="ts", tags=["daily"]).over(country=["nl", "be"], year=[2024])
        def orders(clean, year: int, country: str, logs): ...

        @table
        def total(orders_nl_2024, orders_be_2024): ...
    """)

    project = files.load()

    assert {name: each.depends_on for name, each in project.models.items()} == {
        "clean_be": ("logs",),
        "clean_nl": ("logs",),
        "logs": (),
        "orders_be_2024": ("clean_be", "logs"),
        "orders_nl_2024": ("clean_nl", "logs"),
        "total": ("orders_be_2024", "orders_nl_2024"),
    }
    made = project.models["orders_nl_2024"]
    assert made.function.values == {"country": "nl", "year": 2024}
    assert (str(made.table), made.tags, str(made.where)) == (
        "m.orders_nl_2024",
        ("daily",),
        f"{PLACE}:10",
    )


def test_each_model_has_code_of_its_own(files):
    def codes(countries, body="logs.where(country)"):
        files.models(f"""{LOGS}
        @table.over(country={countries})
        def orders(country, logs): return {body}
        """)
        found = files.load().models
        return {n: (m.fingerprint.canonical, m.fingerprint.settings) for n, m in found.items()}

    first = codes(["nl", "be"])
    more = codes(["be", "de", "nl"])
    other = codes(["nl", "be"], "logs")

    assert first["orders_nl"] != first["orders_be"]
    assert more.items() >= first.items()
    assert other["orders_nl"] != first["orders_nl"]
    assert other["logs"] == first["logs"]


def test_a_mapping_names_values_that_are_no_names(files):
    files.models(f"""{LOGS}
        @table.over(rate={{"low": 0.5, "high": 1.5}})
        def priced(logs, rate: float): ...
    """)

    found = {n: m.params for n, m in files.load().models.items() if m.params}

    assert found == {"priced_high": {"rate": 1.5}, "priced_low": {"rate": 0.5}}


def test_every_mistake_is_a_finding_at_its_line(files):
    files.models(f"""{LOGS}
        @table.over(contry=["nl"], country=["n-l", "be", "BE"])
        def orders(country, logs): ...

        @table.over(country=[])
        def empty(country, logs): ...

        @table.over()
        def nothing(logs): ...

        @table.over(spark=["a"])
        def taken(spark): ...

        @table.over(year=["24", "next"])
        def typed(year: int, logs): ...

        @table
        def typed_24(logs): ...
    """)

    with pytest.raises(ProjectError) as caught:
        files.load()

    found = [f.render().removeprefix(f"{PLACE}:") for f in caught.value.findings]
    assert found == [
        (
            "7: error: bad-value: 'orders_nl_n-l': 'n-l' of over(country=…) cannot end the name of "
            "a model\n  hint: give it a name: over(country={'name': 'n-l'})"
        ),
        (
            "7: error: bad-value: 'orders_nl_n-l': over names 'contry', which is not a parameter\n"
            "  hint: did you mean 'country'?"
        ),
        (
            "7: error: bad-value: 'orders_nl_n-l': over(country=…) names 'be' twice, and both "
            "models alike\n  hint: take one out, or name both with a mapping"
        ),
        (
            "10: error: bad-value: 'empty': over(country=…) has no values: []\n"
            "  hint: write a list of values, or a mapping from names to values"
        ),
        (
            "13: error: bad-value: 'nothing': over() names no parameter\n"
            "  hint: write over(parameter=[value, …])"
        ),
        (
            "16: error: reserved-name: parameter 'spark' of 'taken_a' has a value, and its name a "
            "meaning of its own\n  hint: rename it"
        ),
        (
            "19: error: bad-value: parameter 'year' of 'typed_next' is 'next'; it must be a whole "
            "number\n  hint: change year in over(…)"
        ),
        (
            f"22: error: duplicate-model: 'typed_24' is defined in {PLACE}:19 and {PLACE}:22\n"
            "  hint: model names are unique in the whole project; rename one"
        ),
    ]


def test_a_family_is_the_function_and_its_models(app):
    @app.table.over(country=[Land.NL, Land.BE])
    def orders(events, country, factor=2):
        return [country, *events * factor]

    assert [each.name for each in orders] == ["orders_nl", "orders_be"]
    assert orders["orders_be"]([1]) == [Land.BE, 1, 1]
    assert orders[0]([1], factor=1) == [Land.NL, 1]
    assert orders([1], "x") == ["x", 1, 1]
    assert (len(orders), repr(orders), orders[1:]) == (2, "<orders_nl, orders_be>", (orders[1],))
    with pytest.raises(KeyError, match="'orders_de' is none of orders_nl, orders_be"):
        orders["orders_de"]
    with pytest.raises(TypeError, match="takes 2 positional arguments, and got 3"):
        orders[0]([1], 2, 3)
