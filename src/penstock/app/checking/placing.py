"""Where a typed check looks: its rows, its groups, or why it is not looked at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from penstock.app.checking.inputs import CheckedRows, CheckInputs, Refusal
from penstock.core.check_results import WHOLE_GROUP
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
from penstock.core.engine_ports import QuerySession
from penstock.core.errors import DataError, QueryError
from penstock.core.names import InputKind, InputName
from penstock.core.partition import Grain
from penstock.core.query import Query, at, bound, mentioned, parameters, with_parameters
from penstock.core.ranges import count, numbers
from penstock.core.schema import Schema
from penstock.strategies.checks.phase import group_of
from penstock.strategies.checks.relationships import fields_of, unlike, with_partners
from penstock.strategies.checks.row_count_change import NOTHING_WRITTEN
from penstock.strategies.checks.typed import misfit, parameters_of, with_texts

NO_TABLE = "table does not exist yet"
NO_STEP_ROWS = "no step rows"
NO_WINDOW = "no window is on record"


@dataclass(frozen=True, slots=True)
class Group:
    """What one value is about; `number` is its partition, None where it stands for several."""

    key: str
    number: int | None = None


@dataclass(frozen=True, slots=True)
class Skip:
    """A check is not looked at, and why."""

    reason: str


@dataclass(frozen=True, slots=True)
class GroupSql:
    """A group with SQL of its own: what the check is there, and the SELECT of its rows."""

    group: Group
    check: Check
    sql: str


@dataclass(frozen=True, slots=True)
class Placed:
    """A typed check, its rows and its groups.

    `by_group` has every group where parameters give each SQL of its own. Else all groups are asked
    for at once, by the key of `rows`.
    """

    check: Check
    rows: CheckedRows
    groups: tuple[Group, ...]
    by_group: tuple[GroupSql, ...] = ()
    is_step: bool = False


def place(
    check: Check, check_inputs: CheckInputs, session: QuerySession
) -> Placed | Skip | Refusal:
    """Find the rows of a typed check; nothing is run."""
    gone = missing(check, check_inputs)
    if gone is not None:
        return gone
    if check.query is not None:
        return _of_query(check, check.query, check_inputs, session)
    rows = _rows_of(check, check_inputs)
    if not isinstance(rows, CheckedRows):
        return rows
    wrong = _fault(check, rows.columns, check_inputs, session)
    return wrong or _grouped(check, rows, check_inputs)


def missing(check: Check, check_inputs: CheckInputs) -> Skip | Refusal | None:
    """Say which table that the check reads is not there, or that its parameters have no values."""
    query = check.rule.query if isinstance(check.rule, SqlCheck) else check.query
    names = mentioned(query.text) if query else ()
    used = parameters_of(check) | (parameters(query.text) if query else frozenset())
    if used & GROUP_PARAMETERS - check_inputs.values(_first(check_inputs)).keys():
        return Skip(NO_WINDOW)
    if isinstance(check.rule, Relationships):
        names = (*names, check.rule.to)
    for name in names:
        if name not in check_inputs.views:
            return Skip(NO_TABLE) if name.kind is InputKind.THIS else Refusal(f"no table {name}")
    return None


def groups_of(check_inputs: CheckInputs) -> tuple[Group, ...]:
    """Give the partitions as groups, those without rows as well."""
    return tuple(
        Group(check_inputs.grid.key(each), each) for each in numbers(check_inputs.partitions)
    )


def own_groups(check: Check, check_inputs: CheckInputs) -> tuple[Group, ...]:
    """Give the groups of a check with SQL of its own: one, unless parameters tell them apart."""
    return groups_of(check_inputs) if check.differs_by_group else (whole_group(check_inputs),)


def whole_group(check_inputs: CheckInputs) -> Group:
    """Give the one group of all rows; it is about a partition only where there is just one."""
    only = check_inputs.partitions[0][0] if count(check_inputs.partitions) == 1 else None
    return Group(WHOLE_GROUP, None if check_inputs.grid.grain is Grain.WHOLE else only)


def bound_text(text: str, check_inputs: CheckInputs, number: int | None) -> str:
    """Put the parameters of a partition into SQL."""
    values = check_inputs.values(_first(check_inputs) if number is None else number)
    return at(with_parameters(text, values), check_inputs.run_timestamp)


def _first(check_inputs: CheckInputs) -> int:
    return check_inputs.partitions[0][0] if check_inputs.partitions else 0


def _rows_of(check: Check, check_inputs: CheckInputs) -> CheckedRows | Skip | Refusal:
    if check.phase is Phase.BEFORE:
        return _input_rows(check.input, check_inputs.inputs)
    if check.scope is CheckScope.STEP:
        if (
            check_inputs.step
            and check_inputs.step.stands_in
            and isinstance(check.rule, RowCountChange)
        ):
            return Skip(NO_STEP_ROWS)
        return check_inputs.step or Skip(NOTHING_WRITTEN)
    if isinstance(check.rule, Unique) and not check.rule.all_versions:
        return check_inputs.current or check_inputs.table or Skip(NO_TABLE)
    return check_inputs.table or Skip(NO_TABLE)


def _input_rows(
    name: InputName | None, inputs: Mapping[InputName, CheckedRows]
) -> CheckedRows | Skip | Refusal:
    if name is not None and name.kind is InputKind.THIS and name not in inputs:
        return Skip(NO_TABLE)
    if name is None and len(inputs) == 1:
        return next(iter(inputs.values()))
    if name is None or name not in inputs:
        return Refusal(f"no input {name}" if name else "several inputs, and none is named")
    return inputs[name]


def _fault(
    check: Check, columns: Schema, check_inputs: CheckInputs, session: QuerySession
) -> Refusal | None:
    """Say why the check cannot be measured of rows with these columns."""
    rule = check.rule
    said = misfit(check, columns)
    if not said and isinstance(rule, Relationships):
        try:
            fields = session.describe(fields_of(rule, check_inputs.views[rule.to]))
        except (QueryError, DataError) as error:
            return Refusal.of(error, check)
        said = unlike(rule, columns, fields)
    return Refusal(said) if said else None


def _joined(check: Check, sql: str, check_inputs: CheckInputs) -> str:
    """Give the rows of a `relationships` check with their partners, other rows as they are."""
    rule = check.rule
    if not isinstance(rule, Relationships):
        return sql
    return with_partners(sql, rule, check_inputs.views[rule.to])


def _grouped(check: Check, rows: CheckedRows, check_inputs: CheckInputs) -> Placed:
    """Cut rows into the groups that the check tells apart."""
    is_after = check.phase is Phase.AFTER
    if is_after and check.scope is CheckScope.TABLE:
        rows = replace(rows, key="")
    differs = bool(parameters_of(check) & GROUP_PARAMETERS) and count(check_inputs.partitions) > 1
    groups = groups_of(check_inputs) if rows.key or differs else (whole_group(check_inputs),)
    rows = replace(rows, sql=_joined(check, rows.sql, check_inputs))
    is_step = is_after and check.scope is CheckScope.STEP
    if not differs:
        return Placed(_bound(check, check_inputs, groups[0]), rows, groups, is_step=is_step)
    by_group = tuple(
        GroupSql(group, _bound(check, check_inputs, group), group_of(rows.sql, rows.key, group.key))
        for group in groups
    )
    return Placed(check, rows, groups, by_group, is_step)


def _of_query(
    check: Check, query: Query, check_inputs: CheckInputs, session: QuerySession
) -> Placed | Refusal:
    """Give the rows of the check's own query: one group, unless parameters tell groups apart."""
    groups = own_groups(check, check_inputs)
    text = bound(query.text, check_inputs.views)
    queries = [bound_text(text, check_inputs, group.number) for group in groups]
    try:
        columns = session.describe(queries[0])
    except (QueryError, DataError) as error:
        return Refusal.of(error, check)
    wrong = _fault(check, columns, check_inputs, session)
    if wrong is not None:
        return wrong
    by_group = tuple(
        GroupSql(group, _bound(check, check_inputs, group), _joined(check, sql, check_inputs))
        for group, sql in zip(groups, queries, strict=True)
    )
    rows = CheckedRows(by_group[0].sql, columns)
    if len(groups) == 1:
        return Placed(by_group[0].check, rows, groups)
    return Placed(check, rows, groups, by_group)


def _bound(check: Check, check_inputs: CheckInputs, group: Group) -> Check:
    return with_texts(check, lambda text: bound_text(text, check_inputs, group.number))
