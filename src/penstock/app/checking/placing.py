"""Where a typed check looks: its rows, its groups, or why it is not looked at."""

from __future__ import annotations

from dataclasses import dataclass, replace

from penstock.app.checking.results import CheckedRows, CheckInputs, reason_of, refused, skip
from penstock.core.check_results import WHOLE_GROUP, CheckResult
from penstock.core.checks import (
    GROUP_PARAMETERS,
    Check,
    CheckScope,
    Phase,
    Relationships,
    RowCountChange,
    SqlCheck,
    Unique,
)
from penstock.core.columns.schema import Schema
from penstock.core.errors import DataError, QueryError
from penstock.core.names import InputKind
from penstock.core.partitions.partition import Grain
from penstock.core.partitions.ranges import count, numbers
from penstock.core.ports.engine import QuerySession
from penstock.core.query import Query, at, bound, mentioned, parameters, with_parameters
from penstock.strategies.checks.queries import group_of
from penstock.strategies.checks.typed import misfit, parameters_of, with_texts
from penstock.strategies.checks.types.relationships import fields_of, unlike, with_partners
from penstock.strategies.checks.types.row_count_change import NOTHING_WRITTEN

NO_TABLE = "table does not exist yet"
NO_STEP_ROWS = "no step rows"
NO_WINDOW = "no window is on record"


@dataclass(frozen=True, slots=True)
class Group:
    """What one value is about; `number` is its partition, None where it stands for several.

    Where parameters give each group SQL of its own, `check` is what the check is there and `sql`
    the SELECT of its rows; else the check has them.
    """

    key: str
    number: int | None = None
    check: Check | None = None
    sql: str = ""


@dataclass(frozen=True, slots=True)
class Placed:
    """A typed check, its rows and its groups, which are asked for at once by the key of `rows`.

    With `by_group` every group is asked for with SQL of its own.
    """

    check: Check
    rows: CheckedRows
    groups: tuple[Group, ...]
    by_group: bool = False
    is_step: bool = False


def place(check: Check, given: CheckInputs, session: QuerySession) -> Placed | CheckResult:
    """Find the rows of a typed check, or say why nobody looks at it; nothing is run."""
    gone = missing(check, given)
    if gone is not None:
        return gone
    if check.query is not None:
        return _of_query(check, check.query, given, session)
    rows = _rows_of(check, given)
    if isinstance(rows, CheckResult):
        return rows
    return _misfit(check, rows.columns, given, session) or _grouped(check, rows, given)


def missing(check: Check, given: CheckInputs) -> CheckResult | None:
    """Say which table that the check reads is not there, or that its parameters have no values."""
    query = check.rule.query if isinstance(check.rule, SqlCheck) else check.query
    names = mentioned(query.text) if query else ()
    used = parameters_of(check) | (parameters(query.text) if query else frozenset())
    if used & GROUP_PARAMETERS - given.values(_first(given)).keys():
        return skip(check, NO_WINDOW)
    if isinstance(check.rule, Relationships):
        names = (*names, check.rule.to)
    for name in names:
        if name not in given.views:
            is_target = name.kind is InputKind.THIS
            return skip(check, NO_TABLE) if is_target else refused(check, given, f"no table {name}")
    return None


def groups_of(given: CheckInputs) -> tuple[Group, ...]:
    """Give the partitions as groups, those without rows as well."""
    return tuple(Group(given.grid.key(each), each) for each in numbers(given.partitions))


def own_groups(check: Check, given: CheckInputs) -> tuple[Group, ...]:
    """Give the groups of a check with SQL of its own: one, unless parameters tell them apart."""
    return groups_of(given) if check.differs_by_group else (whole_group(given),)


def whole_group(given: CheckInputs) -> Group:
    """Give the one group of all rows; it is about a partition only where there is just one."""
    only = given.partitions[0][0] if count(given.partitions) == 1 else None
    return Group(WHOLE_GROUP, None if given.grid.grain is Grain.WHOLE else only)


def bound_text(text: str, given: CheckInputs, number: int | None) -> str:
    """Put the parameters of a partition into SQL."""
    values = given.values(_first(given) if number is None else number)
    return at(with_parameters(text, values), given.run_timestamp)


def _first(given: CheckInputs) -> int:
    return given.partitions[0][0] if given.partitions else 0


def _rows_of(check: Check, given: CheckInputs) -> CheckedRows | CheckResult:
    if check.phase is Phase.BEFORE:
        return _input_rows(check, given)
    if check.scope is CheckScope.STEP:
        # How the rows of a step changed cannot be told from a table that stands in for them.
        if given.step and given.step.stands_in and isinstance(check.rule, RowCountChange):
            return skip(check, NO_STEP_ROWS)
        return given.step or skip(check, NOTHING_WRITTEN)
    is_current = isinstance(check.rule, Unique) and not check.rule.all_versions
    return (given.current if is_current else None) or given.table or skip(check, NO_TABLE)


def _input_rows(check: Check, given: CheckInputs) -> CheckedRows | CheckResult:
    name, inputs = check.input, given.inputs
    if name is None and len(inputs) == 1:
        return next(iter(inputs.values()))
    if name is None:
        return refused(check, given, "several inputs, and none is named")
    if name in inputs:
        return inputs[name]
    if name.kind is InputKind.THIS:
        return skip(check, NO_TABLE)
    return refused(check, given, f"no input {name}")


def _misfit(
    check: Check, columns: Schema, given: CheckInputs, session: QuerySession
) -> CheckResult | None:
    """Say why the check cannot be measured of rows with these columns."""
    rule = check.rule
    why = misfit(check, columns)
    if not why and isinstance(rule, Relationships):
        try:
            fields = session.describe(fields_of(rule, given.views[rule.to]))
        except (QueryError, DataError) as error:
            return refused(check, given, reason_of(error, check))
        why = unlike(rule, columns, fields)
    return refused(check, given, why) if why else None


def _joined(check: Check, sql: str, given: CheckInputs) -> str:
    """Give the rows of a `relationships` check with their partners, other rows as they are."""
    rule = check.rule
    return (
        with_partners(sql, rule, given.views[rule.to]) if isinstance(rule, Relationships) else sql
    )


def _grouped(check: Check, rows: CheckedRows, given: CheckInputs) -> Placed:
    """Cut rows into the groups that the check tells apart."""
    is_after = check.phase is Phase.AFTER
    if is_after and check.scope is CheckScope.TABLE:
        rows = replace(rows, key="")
    differs = bool(parameters_of(check) & GROUP_PARAMETERS) and count(given.partitions) > 1
    groups = groups_of(given) if rows.key or differs else (whole_group(given),)
    rows = replace(rows, sql=_joined(check, rows.sql, given))
    is_step = is_after and check.scope is CheckScope.STEP
    if not differs:
        return Placed(_bound(check, given, groups[0]), rows, groups, is_step=is_step)
    own = tuple(
        replace(each, check=_bound(check, given, each), sql=group_of(rows.sql, rows.key, each.key))
        for each in groups
    )
    return Placed(check, rows, own, by_group=True, is_step=is_step)


def _of_query(
    check: Check, query: Query, given: CheckInputs, session: QuerySession
) -> Placed | CheckResult:
    """Give the rows of the check's own query: one group, unless parameters tell groups apart."""
    groups = own_groups(check, given)
    text = bound(query.text, given.views)
    queries = [bound_text(text, given, group.number) for group in groups]
    try:
        columns = session.describe(queries[0])
    except (QueryError, DataError) as error:
        return refused(check, given, reason_of(error, check))
    wrong = _misfit(check, columns, given, session)
    if wrong is not None:
        return wrong
    rows = CheckedRows(_joined(check, queries[0], given), columns)
    if len(groups) == 1:
        return Placed(_bound(check, given, groups[0]), rows, groups)
    own = tuple(
        replace(each, check=_bound(check, given, each), sql=_joined(check, sql, given))
        for each, sql in zip(groups, queries, strict=True)
    )
    return Placed(check, rows, own, by_group=True)


def _bound(check: Check, given: CheckInputs, group: Group) -> Check:
    return with_texts(check, lambda text: bound_text(text, given, group.number))
