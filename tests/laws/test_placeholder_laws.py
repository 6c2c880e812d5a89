"""Law 7: placeholders change code tokens and nothing else."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from penstock.core.names import TableName
from penstock.core.query import PARAMETERS
from penstock.project.checks.kept import condition_of, query_of
from penstock.project.checks.scene import ConditionKind
from penstock.project.sql.names import NameResolver, QueryOwner

ALL = frozenset(PARAMETERS)
COLUMN = "a`b.c"
NAME = "`a``b.c`"
INSIDE = st.lists(
    st.sampled_from(
        ["{destination}", "{column}", "{x}", "@run_date", "max(a)", "select", " ", "é", "--", ";"]
    ),
    max_size=4,
).map("".join)


@dataclass(frozen=True)
class Piece:
    """A piece of SQL, and what it is afterwards."""

    before: str
    after: str


def _same(text: str) -> Piece:
    return Piece(text, text)


STRINGS = st.one_of(
    INSIDE.map(lambda text: f"'{text}'"),
    INSIDE.map(lambda text: f'"{text}"'),
    INSIDE.map(lambda text: f"'it''s {text} \\' \\\\'"),
    INSIDE.map(lambda text: f"r'{text}\\'"),
).map(_same)
NAMES = INSIDE.map(lambda text: f"`_{text} ``{text}`").map(_same)
COMMENTS = st.one_of(
    INSIDE.map(lambda text: f" -- {text} ' `\n"), INSIDE.map(lambda text: f" /* {text} ' ` */ ")
)
PARAMETER = st.sampled_from(PARAMETERS).map(
    lambda name: Piece(f"@{name}", f"`penstock:param:{name}`")
)
WORDS = st.sampled_from(["a", "region", "1", "map(1, 2)", "É", "`{`", "` {column}`"]).map(_same)
THE_COLUMN = st.sampled_from([Piece("{column}", NAME), Piece("`{column}`", NAME)])
THE_TABLE = st.sampled_from(["{destination}", "`{destination}`", "analytics.user_stats"]).map(
    lambda text: Piece(text, "`penstock:this:user_stats:bare:user_stats`")
)


def _joined(draw, value: st.SearchStrategy[Piece], sign: str) -> Piece:
    pieces = draw(st.lists(value, min_size=1, max_size=6))
    signs = [sign, *(f"{sign}{draw(st.just('') | COMMENTS)}" for _ in pieces)]
    before = after = ""
    for number, piece in enumerate(pieces):
        glue = signs[number] if number else ""
        before, after = before + glue + piece.before, after + glue + piece.after
    return Piece(before, after)


@st.composite
def conditions(draw):
    return _joined(draw, STRINGS | NAMES | PARAMETER | WORDS | THE_COLUMN, "=")


@st.composite
def queries(draw):
    list_ = _joined(draw, STRINGS | NAMES | PARAMETER | WORDS, ",")
    table = draw(THE_TABLE)
    comment = draw(st.just("") | COMMENTS)
    return Piece(
        f"select {list_.before}{comment} from {table.before}",
        f"select {list_.after}{comment} from {table.after}",
    )


@given(conditions(), st.sampled_from(["", " ", " -- {column}", " /* @run_date */;"]))
def test_a_condition_keeps_every_character_that_is_no_placeholder(piece, tail):
    found = condition_of(piece.before + tail, ConditionKind.CHECK, column=COLUMN, allowed=ALL)

    assert {problem.code for problem in found.problems} <= {"parameter-in-string"}
    assert found.value.text == piece.after


@given(queries())
def test_a_query_keeps_every_character_that_is_no_placeholder(piece):
    resolver = NameResolver()
    resolver.add_model("user_stats", TableName("analytics", "user_stats"))
    found = query_of(piece.before, QueryOwner("m.yml", resolver.model("user_stats")), resolver, ALL)

    assert {problem.code for problem in found.problems} <= {"parameter-in-string", "unparsed-sql"}
    assert found.value.text == piece.after
