"""Templates: every value comes out as data, every text parses or is refused."""

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from penstock.core.columns.typed import TypedValue
from penstock.project.entities.template_functions import BadExpressionError
from penstock.project.entities.templates import (
    low_bound,
    parse_template,
    parse_watermark,
    path_scope,
)

NOW = datetime(2024, 2, 29, tzinfo=UTC)
WORDS = [
    "minus_days",
    "last_value",
    "today",
    "format",
    "settings_a",
    "lower",
    "minus",
    "yyyy",
    "7",
    "-1",
    "1.5",
]
PIECES = st.sampled_from(["${", *"}'(), \\$\n{é", "9" * 30, *WORDS])
TEXTS = st.text(max_size=30) | st.lists(PIECES, max_size=12).map("".join)
TYPES = {"DATE": "2024-01-31", "TIMESTAMP": "2024-01-31", "INT": "7", "DECIMAL(9,2)": "7"}


@given(st.text(), st.text())
def test_a_value_comes_out_as_it_is(setting, stored):
    values = {"settings_a": TypedValue("STRING", setting)}

    assert parse_template("x${settings_a}y").render(values) == f"x{setting}y"
    low = low_bound(
        parse_watermark("'${last_value}'"), TypedValue("STRING", stored), NOW, "Europe/Amsterdam"
    )
    assert low.text == stored


@given(TEXTS, TEXTS)
def test_a_text_parses_or_is_a_bad_expression(inner, around):
    scope = path_scope({"settings_a": "STRING"})
    values = {"settings_a": TypedValue("STRING", "v"), "today": TypedValue("DATE", "2024-01-31")}
    for text in (around, f"${{{inner}}}", f"{around}${{{inner}}}"):
        try:
            template = parse_template(text)
            template.check(scope)
            template.render(values)
        except BadExpressionError:
            continue


@given(TEXTS, st.sampled_from(sorted(TYPES)))
def test_a_watermark_gives_a_value_of_its_type_or_is_a_bad_expression(inner, kind):
    stored = TypedValue.parse(kind, TYPES[kind])
    try:
        low = low_bound(parse_watermark(f"'${{{inner}}}'", kind), stored, NOW, "UTC")
    except BadExpressionError:
        return
    assert low.type == kind
