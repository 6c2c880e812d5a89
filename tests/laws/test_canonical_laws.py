"""Law 3: canonical checksums see meaning, and all of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random

from hypothesis import assume, given
from hypothesis import strategies as st

from fakes.sql_layout import relaid
from penstock.project.sql.bodies import canonical_as_written
from penstock.project.sql.canonical import canonical_of
from penstock.project.sql.sql_file import parse_plain_sql

NAMES = st.sampled_from(["a", "b", "c", "d", "e", "A", "B", "user_id", "total"])
TABLES = st.sampled_from(["s.t", "s.u", "raw.events", "t", "`raw.events`", "c.s.t"])
LITERALS = st.sampled_from(
    ["1", "2", "1.5", "'x'", "'X'", "'-- x'", "'/* '", "date '2024-01-01'", "true", "null"]
)
PARAMETERS = st.sampled_from(["@partition_date", "@start_date", "@end_date", "@run_date"])
SEEDS = st.integers(0, 2**32)


@dataclass(frozen=True)
class Select:
    """A query in parts; each part that is changed changes its meaning."""

    columns: tuple[str, ...]
    table: str
    conditions: tuple[str, ...]
    order: tuple[str, ...]
    limit: int

    @property
    def text(self) -> str:
        """Write it."""
        where = f" where {' and '.join(self.conditions)}" if self.conditions else ""
        order = f" order by {', '.join(self.order)}" if self.order else ""
        limit = f" limit {self.limit}" if self.limit else ""
        return f"select {', '.join(self.columns)} from {self.table}{where}{order}{limit}"


def _calls(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    functions = st.sampled_from(["sum", "coalesce", "concat", "my_udf", "greatest", "upper"])
    one = st.builds("{}({})".format, st.sampled_from(["sum", "upper", "my_udf", "abs"]), inner)
    two = st.builds(
        "{}({}, {})".format, functions.filter(lambda f: f not in ("sum", "upper")), inner, inner
    )
    sums = st.builds("({} {} {})".format, inner, st.sampled_from(["+", "-", "*", "||"]), inner)
    cases = st.builds("case when {} = {} then {} else {} end".format, inner, inner, inner, inner)
    casts = st.builds("cast({} as {})".format, inner, st.sampled_from(["int", "string", "date"]))
    return one | two | sums | cases | casts


VALUES = st.recursive(NAMES | LITERALS | PARAMETERS, _calls, max_leaves=6)
CONDITIONS = st.builds(
    "{} {} {}".format, VALUES, st.sampled_from(["=", "<", ">=", "<=>", "is distinct from"]), VALUES
)
SELECTS = st.builds(
    Select,
    st.lists(VALUES, min_size=1, max_size=4).map(tuple),
    TABLES,
    st.lists(CONDITIONS, max_size=3).map(tuple),
    st.lists(NAMES, max_size=2).map(tuple),
    st.integers(0, 3),
)


@given(SELECTS, SEEDS)
def test_the_layout_says_nothing(select, seed):
    again = relaid(select.text, Random(seed))  # noqa: S311  a shuffle

    assert canonical_of(again) == canonical_of(select.text)
    assert canonical_of(select.text) != select.text


@given(SELECTS, st.data())
def test_another_part_is_another_meaning(select, data):
    part = data.draw(st.sampled_from(["columns", "table", "conditions", "order", "limit"]))
    strategies = {
        "columns": st.lists(VALUES, min_size=1, max_size=4).map(tuple),
        "table": st.sampled_from(["s.t", "s.u", "raw.events", "t", "c.s.t"]),
        "conditions": st.lists(CONDITIONS, max_size=3).map(tuple),
        "order": st.lists(NAMES, max_size=2).map(tuple),
        "limit": st.integers(0, 3),
    }
    old, new = getattr(select, part), data.draw(strategies[part])
    assume(str(old).replace("`", "") != str(new))

    changed = replace(select, **{part: new})

    assert canonical_of(changed.text) != canonical_of(select.text)


@given(SELECTS, SEEDS)
def test_what_the_cache_keeps_gives_the_same_form(select, seed):
    text = relaid(select.text, Random(seed))  # noqa: S311  a shuffle
    (branch,) = parse_plain_sql("q.sql", text).branches

    assert canonical_as_written(branch, text) == canonical_of(text)
