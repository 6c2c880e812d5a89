"""Where a typed check looks: its rows, its groups, or why it is not looked at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from penstock.app.checking.inputs import Ground, Refusal, Rows
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
    rows: Rows
    groups: tuple[Group, ...]
    by_group: tuple[GroupSql, ...] = ()
    is_step: bool = False


def place(check: Check, ground: Ground, session: QuerySession) -> Placed | Skip | Refusal:
    """Find the rows of a typed check; nothing is run."""
    gone = missing(check, ground)
    if gone is not None:
        return gone
    if check.query is not None:
        return _of_query(check, check.query, ground, session)
    rows = _rows_of(check, ground)
    if not isinstance(rows, Rows):
        return rows
    wrong = _fault(check, rows.columns, ground, session)
    return wrong or _grouped(check, rows, ground)


def missing(check: Check, ground: Ground) -> Skip | Refusal | None:
    """Say which table that the check reads is not there, or that its parameters have no values."""
    query = check.rule.query if isinstance(check.rule, SqlCheck) else check.query
    names = mentioned(query.text) if query else ()
    used = parameters_of(check) | (parameters(query.text) if query else frozenset())
    if used & GROUP_PARAMETERS - ground.values(_first(ground)).keys():
        return Skip(NO_WINDOW)
    if isinstance(check.rule, Relationships):
        names = (*names, check.rule.to)
    for name in names:
        if name not in ground.views:
            return Skip(NO_TABLE) if name.kind is InputKind.THIS else Refusal(f"no table {name}")
    return None


def groups_of(ground: Ground) -> tuple[Group, ...]:
    """Give the partitions as groups, those without rows as well."""
    return tuple(Group(ground.grid.key(each), each) for each in numbers(ground.partitions))


def own_groups(check: Check, ground: Ground) -> tuple[Group, ...]:
    """Give the groups of a check with SQL of its own: one, unless parameters tell them apart."""
    return groups_of(ground) if check.differs_by_group else (whole_group(ground),)


def whole_group(ground: Ground) -> Group:
    """Give the one group of all rows; it is about a partition only where there is just one."""
    only = ground.partitions[0][0] if count(ground.partitions) == 1 else None
    return Group(WHOLE_GROUP, None if ground.grid.grain is Grain.WHOLE else only)


def bound_text(text: str, ground: Ground, number: int | None) -> str:
    """Put the parameters of a partition into SQL."""
    values = ground.values(_first(ground) if number is None else number)
    return at(with_parameters(text, values), ground.moment)


def _first(ground: Ground) -> int:
    return ground.partitions[0][0] if ground.partitions else 0


def _rows_of(check: Check, ground: Ground) -> Rows | Skip | Refusal:
    if check.phase is Phase.BEFORE:
        return _input_rows(check.input, ground.inputs)
    if check.scope is CheckScope.STEP:
        if ground.step and ground.step.stands_in and isinstance(check.rule, RowCountChange):
            return Skip(NO_STEP_ROWS)
        return ground.step or Skip(NOTHING_WRITTEN)
    if isinstance(check.rule, Unique) and not check.rule.all_versions:
        return ground.current or ground.table or Skip(NO_TABLE)
    return ground.table or Skip(NO_TABLE)


def _input_rows(name: InputName | None, inputs: Mapping[InputName, Rows]) -> Rows | Skip | Refusal:
    if name is not None and name.kind is InputKind.THIS and name not in inputs:
        return Skip(NO_TABLE)
    if name is None and len(inputs) == 1:
        return next(iter(inputs.values()))
    if name is None or name not in inputs:
        return Refusal(f"no input {name}" if name else "several inputs, and none is named")
    return inputs[name]


def _fault(check: Check, columns: Schema, ground: Ground, session: QuerySession) -> Refusal | None:
    """Say why the check cannot be measured of rows with these columns."""
    rule = check.rule
    said = misfit(check, columns)
    if not said and isinstance(rule, Relationships):
        try:
            fields = session.describe(fields_of(rule, ground.views[rule.to]))
        except (QueryError, DataError) as error:
            return Refusal.of(error, check)
        said = unlike(rule, columns, fields)
    return Refusal(said) if said else None


def _joined(check: Check, sql: str, ground: Ground) -> str:
    """Give the rows of a `relationships` check with their partners, other rows as they are."""
    rule = check.rule
    if not isinstance(rule, Relationships):
        return sql
    return with_partners(sql, rule, ground.views[rule.to])


def _grouped(check: Check, rows: Rows, ground: Ground) -> Placed:
    """Cut rows into the groups that the check tells apart."""
    is_after = check.phase is Phase.AFTER
    if is_after and check.scope is CheckScope.TABLE:
        rows = replace(rows, key="")
    differs = bool(parameters_of(check) & GROUP_PARAMETERS) and count(ground.partitions) > 1
    groups = groups_of(ground) if rows.key or differs else (whole_group(ground),)
    rows = replace(rows, sql=_joined(check, rows.sql, ground))
    is_step = is_after and check.scope is CheckScope.STEP
    if not differs:
        return Placed(_bound(check, ground, groups[0]), rows, groups, is_step=is_step)
    by_group = tuple(
        GroupSql(group, _bound(check, ground, group), group_of(rows.sql, rows.key, group.key))
        for group in groups
    )
    return Placed(check, rows, groups, by_group, is_step)


def _of_query(
    check: Check, query: Query, ground: Ground, session: QuerySession
) -> Placed | Refusal:
    """Give the rows of the check's own query: one group, unless parameters tell groups apart."""
    groups = own_groups(check, ground)
    text = bound(query.text, ground.views)
    queries = [bound_text(text, ground, group.number) for group in groups]
    try:
        columns = session.describe(queries[0])
    except (QueryError, DataError) as error:
        return Refusal.of(error, check)
    wrong = _fault(check, columns, ground, session)
    if wrong is not None:
        return wrong
    by_group = tuple(
        GroupSql(group, _bound(check, ground, group), _joined(check, sql, ground))
        for group, sql in zip(groups, queries, strict=True)
    )
    rows = Rows(by_group[0].sql, columns)
    if len(groups) == 1:
        return Placed(by_group[0].check, rows, groups)
    return Placed(check, rows, groups, by_group)


def _bound(check: Check, ground: Ground, group: Group) -> Check:
    return with_texts(check, lambda text: bound_text(text, ground, group.number))
