"""What a history table's query must select, as far as its text tells."""

from __future__ import annotations

from penstock.core.findings import Finding, Location, Severity
from penstock.core.history import (
    ENGINE_PREFIX,
    ColumnsDiffer,
    HashDiffers,
    HistorySettings,
    NewerThan,
)
from penstock.project.config import Config
from penstock.project.nearest import did_you_mean
from penstock.project.parsed import Outputs, SqlFile


def check_outputs(strategy: HistorySettings, config: Config, file: SqlFile) -> None:
    """Report what is wrong with the columns that the query of a history table selects."""
    outputs = file.branches[0].outputs
    if outputs.names is not None:
        _check_selected(strategy, config, outputs.names)
    reserved = {name.lower() for name in strategy.columns.names}
    compared = _compared(strategy, outputs)
    for column in outputs.columns:
        where = Location(file.path, column.line)
        name = column.name.lower()
        if name in reserved or name.startswith(ENGINE_PREFIX):
            hint = "rename it, or set system_columns.prefix" if name in reserved else "rename it"
            sentence = f"column {column.name!r} is reserved"
            config.findings.append(Finding(where, "reserved-column", sentence, hint))
        elif name in compared and column.volatile:
            sentence = (
                f"{column.name!r} differs on every run; each run would open a version of every row"
            )
            warning = Finding(where, "volatile-change-column", sentence, severity=Severity.WARNING)
            config.findings.append(warning)


def _check_selected(strategy: HistorySettings, config: Config, known: tuple[str, ...]) -> None:
    folded = {name.lower() for name in known}
    key, columns = _asked(strategy)
    for setting, names in (("unique_key", strategy.keys), (key, columns)):
        for name in names:
            if name and name.lower() not in folded:
                sentence = f"{setting} {name!r} is not selected"
                config.report(setting, "column-not-selected", sentence, did_you_mean(name, known))
    keys = {name.lower() for name in strategy.keys}
    if strategy.change == ColumnsDiffer(None) and not folded - keys:
        sentence = "check_cols 'all' leaves nothing to compare: every selected column is a key"
        hint = "select more columns, or name a key column in check_cols"
        config.report("check_cols", "check-cols-missing", sentence, hint)


def _asked(strategy: HistorySettings) -> tuple[str, tuple[str, ...]]:
    """Give the setting that names the compared columns, and those columns."""
    match strategy.change:
        case NewerThan(column):
            return "updated_at", (column,)
        case ColumnsDiffer(columns) | HashDiffers(hashed=columns):
            return "check_cols", columns or ()


def _compared(strategy: HistorySettings, outputs: Outputs) -> set[str]:
    keys = {name.lower() for name in strategy.keys}
    if strategy.change == ColumnsDiffer(None):
        return {column.name.lower() for column in outputs.columns} - keys
    return {name.lower() for name in _asked(strategy)[1]}
