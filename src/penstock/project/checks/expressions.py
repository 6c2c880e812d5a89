"""Parse a condition: its aggregates, and what it must not contain.

Function calls are found by tokens and not in a tree, because the text of an aggregate is needed as
written, and because the parser treats some aggregates as plain functions; a test compares the list
with Spark's own registry.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from sqlglot import Token, TokenType, exp
from sqlglot.errors import ParseError, SqlglotError

from penstock.core.checks.check_type import Condition
from penstock.core.findings import Finding, Location
from penstock.core.names import quoted
from penstock.core.query import parameter
from penstock.project.checks.scene import ConditionKind, Understood
from penstock.project.files.values import some_of
from penstock.project.sql import parameters
from penstock.project.sql.canonical import said_by, tokens_of, trees_of
from penstock.project.sql.outputs import VOLATILE

_NAMES = """
any any_value approx_count_distinct approx_percentile approx_top_k approx_top_k_accumulate
approx_top_k_combine array_agg avg bit_and bit_or bit_xor bitmap_and_agg bitmap_construct_agg
bitmap_or_agg bool_and bool_or collect_list collect_set corr count count_if count_min_sketch
covar_pop covar_samp every first first_value histogram_numeric hll_sketch_agg hll_union_agg
kll_merge_agg_bigint kll_merge_agg_double kll_merge_agg_float kll_sketch_agg_bigint
kll_sketch_agg_double kll_sketch_agg_float kurtosis last last_value listagg max max_by mean measure
median min min_by mode percentile percentile_approx percentile_cont percentile_disc regr_avgx
regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy
schema_of_variant_agg skewness some std stddev stddev_pop stddev_samp string_agg sum
theta_intersection_agg theta_sketch_agg theta_union_agg try_avg try_sum
tuple_intersection_agg_double tuple_intersection_agg_integer tuple_sketch_agg_double
tuple_sketch_agg_integer tuple_union_agg_double tuple_union_agg_integer var_pop var_samp variance
vector_avg vector_sum
"""

AGGREGATES = frozenset(_NAMES.split())
"""Every function that computes one value from many rows, in lower case."""

UNOBSERVED = frozenset({"measure"})
"""Those of them that fail when they are observed; all others can be computed during a write."""


_CHANGING = {"random", "shuffle", "randstr", "uniform", "curdate", "localtimestamp", "current_time"}
_CHANGING |= {"input_file_block_start", "input_file_block_length", *VOLATILE}
_WITHOUT_BRACKETS = {"current_timestamp", "current_date", "localtimestamp", "current_time"}
_PATTERNS = (TokenType.LIKE, TokenType.ILIKE)  # like any (…) is no aggregate
_SHIFT = {TokenType.L_PAREN: 1, TokenType.R_PAREN: -1}
_CODE = "bad-check-expression"
_PARAMETER = "penstock:param:"
_FIRST = Location("", 1)
_SAID = 120
_SESSION = "current_user session_user user current_catalog current_database current_schema"
_NO_COLUMNS = frozenset((*_SESSION.split(), "localtimestamp", "current_time", "_metadata"))
"""Words that Spark may not treat as a column."""


@dataclass(frozen=True, slots=True)
class AggregateCall:
    """An aggregate call: its start and exclusive end, and its text."""

    start: int
    end: int
    text: str
    observable: bool


def aggregates_of(text: str, tokens: Sequence[Token]) -> Iterator[AggregateCall]:
    """Yield the outermost aggregate calls, with the clauses that follow each."""
    number = 0
    while number < len(tokens):
        if not _is_call(tokens, number) or _name(tokens[number]) not in AGGREGATES:
            number += 1
            continue
        last, is_filtered = _reach(tokens, number)
        is_distinct = _type(tokens, number + 2) is TokenType.DISTINCT
        start, end = tokens[number].start, tokens[last].end + 1
        is_whole = not is_distinct and not is_filtered
        is_observable = is_whole and _name(tokens[number]) not in UNOBSERVED
        yield AggregateCall(start, end, text[start:end], is_observable)
        number = last + 1


def volatile_of(tokens: Sequence[Token]) -> list[str]:
    """Return the functions whose value differs between calls."""
    found = []
    for number, token in enumerate(tokens):
        name = _name(token)
        if _is_call(tokens, number):
            is_of_now = name == "unix_timestamp" and _type(tokens, number + 2) is TokenType.R_PAREN
            found += [name] * (name in _CHANGING or is_of_now)
        elif name in _WITHOUT_BRACKETS and token.end - token.start + 1 == len(name):  # no quotes
            around = (_type(tokens, number - 1), _type(tokens, number + 1))
            found += [name] * (TokenType.DOT not in around)
    return found


def _is_call(tokens: Sequence[Token], number: int) -> bool:
    if _type(tokens, number + 1) is not TokenType.L_PAREN:
        return False
    before = _type(tokens, number - 1)
    is_word = tokens[number].text.replace("_", "a").isalnum()
    return is_word and before is not TokenType.DOT and before not in _PATTERNS


def _reach(tokens: Sequence[Token], number: int) -> tuple[int, bool]:
    last = _shut(tokens, number + 1)
    is_filtered = False
    while True:
        words = [_name(token) for token in tokens[last + 1 : last + 3]]
        if words == ["within", "group"]:
            last = _shut(tokens, last + 3)
        elif words == ["filter", "("]:
            last, is_filtered = _shut(tokens, last + 2), True
        elif words in (["ignore", "nulls"], ["respect", "nulls"]):
            last += 2
        else:
            return last, is_filtered


def _shut(tokens: Sequence[Token], opening: int) -> int:
    """Return the token that closes a bracket; the last one of the text if none does."""
    depth = 0
    for number in range(opening, len(tokens)):
        depth += _SHIFT.get(tokens[number].token_type, 0)
        if depth == 0:
            return number
    return len(tokens) - 1


def _name(token: Token) -> str:
    return token.text.lower()


def _type(tokens: Sequence[Token], number: int) -> TokenType | None:
    return tokens[number].token_type if 0 <= number < len(tokens) else None


def understood(text: str, kind: ConditionKind, column: str) -> Understood:
    """Parse a condition without context; errors are problems."""
    try:
        tokens = tokens_of(text)
    except SqlglotError as error:
        return Understood(Condition(text), findings=(_unread(error),))
    if not tokens:
        hint = "write what must hold: {column} >= 0"
        problem = Finding(_FIRST, _CODE, "the condition is empty", hint)
        return Understood(Condition(text), findings=(problem,))
    known = parameters.COLUMN if column and kind is ConditionKind.CHECK else ""
    found = list(parameters.placeholders_of(text, tokens))
    cuts = list(parameters.parameters_of(text, tokens))
    problems = parameters.unknown_placeholders(text, found, known)
    problems += parameters.parameter_problems(text, tokens)
    spots = [(start, end, quoted(column)) for start, end, word in found if word == known]
    spots += [(start, end, parameter(ref.names[0])) for start, end, ref in cuts]
    # Comments at the end go: the condition will stand inside brackets.
    written = parameters.replaced(text[: tokens[-1].end + 1], spots)
    found_in = Understood(Condition(written.strip()))
    if not any(each.is_error for each in problems):
        found_in = _analysed(written, kind)
        problems += found_in.findings
    used = tuple(ref for _, _, ref in cuts)
    return replace(found_in, parameters=used, findings=tuple(problems))


def _analysed(text: str, kind: ConditionKind) -> Understood:
    try:
        tokens = tokens_of(text)
        tree = _parsed(tokens, text)
    except SqlglotError as error:
        return Understood(Condition(text.strip()), findings=(_unread(error),))
    aggregates = list(aggregates_of(text, tokens))
    volatile = volatile_of(tokens)
    condition = Condition(
        text.strip(),
        tuple(dict.fromkeys(call.text for call in aggregates)),
        observable=not volatile and all(call.observable for call in aggregates),
    )
    said = _fault(tree, kind, aggregates, volatile)
    problems = (Finding(_FIRST, _CODE, said, "use a sql check"),) if said else ()
    columns = tuple(  # of a field of a struct the struct
        (column.parts[0].name, text.count("\n", 0, start))
        for column, start in _columns(tree)
        if column.parts[0].args.get("quoted") or column.parts[0].name.lower() not in _NO_COLUMNS
    )
    return Understood(condition, findings=problems, columns=columns)


def _parsed(tokens: Sequence[Token], text: str) -> exp.Expr:
    trees = trees_of(tokens, text, exp.Condition)
    if len(trees) != 1 or trees[0] is None:
        raise ParseError("one condition is expected")
    return trees[0]


def _fault(
    tree: exp.Expr,
    kind: ConditionKind,
    aggregates: Sequence[AggregateCall],
    volatile: Sequence[str],
) -> str:
    if tree.find(exp.Query) is not None:
        return "the condition holds a subquery"
    if tree.find(exp.Window) is not None:
        return "the condition holds a window function"
    if kind is ConditionKind.WHERE:
        return f"where reads one row, {aggregates[0].text} at many" if aggregates else ""
    if volatile:
        return f"the condition calls {volatile[0]}, which gives another value each time"
    if kind is ConditionKind.MEASURE and not aggregates:
        return "the measure has no aggregate, so it is no number of a group"
    bare = {
        ".".join(part.name for part in column.parts): None
        for column, start in _columns(tree)
        if aggregates and not any(call.start <= start < call.end for call in aggregates)
    }
    mixed = f"the condition mixes {aggregates[0].text} with bare columns: " if bare else ""
    return mixed + some_of([*bare])


def _columns(tree: exp.Expr) -> Iterator[tuple[exp.Column, int]]:
    for column in tree.find_all(exp.Column):
        start = column.parts[0].meta.get("start")
        if start is not None and not column.parts[0].name.startswith(_PARAMETER):
            yield column, start


def _unread(error: SqlglotError) -> Finding:
    line, said = said_by(error)
    first = error.errors[0] if isinstance(error, ParseError) and error.errors else {}
    if near := str(first.get("highlight") or ""):
        said = f"{said.removesuffix(' is missing')}, near {near!r}"
    sentence = f"the condition cannot be read: {said[:_SAID]}"
    hint = "write one condition, such as amount >= 0"
    return Finding(Location("", line), _CODE, sentence, hint)
