"""How many failing rows are too many: `mostly`, `warn_if`, `error_if`, and where rows are kept."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal

from penstock.core import checks as core
from penstock.core.checks import ANY_ROW, ColumnCheck, Rule, SqlCheck, Threshold, Thresholds
from penstock.core.findings import Finding, Severity
from penstock.project.checks.form import Form, number_of

_SHARED = (core.NotNull, core.Unique, core.AcceptedValues, core.Relationships, core.ValueRange)
_NUMBER = r"(\d+(?:\.\d+)?)"
_SIGNED = re.compile(rf"\s*(>=|<=|!=|<>|==|=|>|<)\s*{_NUMBER}\s*(%)?\s*")
_BETWEEN = re.compile(rf"\s*between\s+{_NUMBER}\s+and\s+{_NUMBER}\s*(%)?\s*", re.IGNORECASE)
_SAME = {"<>": "!=", "==": "="}
_EXPECTED = "a condition on the number of failing rows, such as > 10, > 1 % or between 1 and 5"
_IF = ("warn_if", "error_if")
_UNCOUNTED = "use null_percentage, row_count or column_check"


@dataclass(frozen=True, slots=True)
class Failing:
    """What a check says of its failing rows."""

    thresholds: Thresholds | None = None
    store: bool = False
    limit: int | None = None


def threshold_of(text: str) -> Threshold | None:
    """Read a condition on how many rows fail; None for what is none.

    >>> str(threshold_of(">10")), str(threshold_of("Between 1 and 2.5%")), threshold_of("> 0.5")
    ('> 10', 'between 1 and 2.5 %', None)
    """
    if signed := _SIGNED.fullmatch(text):
        sign, value, percent = signed.groups()
        found = Threshold(_SAME.get(sign, sign), Decimal(value), percent=bool(percent))
    elif between := _BETWEEN.fullmatch(text):
        low, high, percent = between.groups()
        found = Threshold("between", Decimal(low), Decimal(high), percent=bool(percent))
    else:
        return None
    ends = [each for each in (found.value, found.upto) if each is not None]
    is_whole = found.percent or all(each == each.to_integral_value() for each in ends)
    return found if is_whole and ends == sorted(ends) else None


def read_failing(form: Form, rule: Rule | None, severity: Severity) -> Failing:
    """Read what is said of failing rows; what could have no effect is a finding."""
    section = form.section
    store, limit = bool(section.flag("store_failures")), section.number("limit", 1)
    given = {key: _given(form, key) for key in _IF if section.find(key) is not None}
    mostly = _mostly(form)
    counts = _counts(rule)
    for key in ("mostly", *_IF) if rule is not None else ():
        if section.find(key) is None:
            continue
        if not counts:
            sentence = f"{key}: {core.TYPES[type(rule)]} counts no rows that fail"
            form.report(key, "unsupported-threshold", sentence, _UNCOUNTED)
        elif isinstance(rule, SqlCheck) and (key == "mostly" or _is_share(given.get(key))):
            sentence = f"{key}: SQL gives failing rows alone, which are no share of anything"
            form.report(key, "unsupported-threshold", sentence, 'write a number: "> 10"')
    if mostly is not None and given:
        sentence = f"mostly says what {next(iter(given))} says"
        form.report("mostly", "option-conflict", sentence, "keep one of them")
    if limit is not None and not store:
        _idle(form, "limit", "limit is how many failing rows are kept, and none are")
    if store and rule is not None and not (counts or isinstance(rule, core.NullPercentage)):
        _idle(form, "store_failures", f"{core.TYPES[type(rule)]} has no rows that fail")
    return Failing(_thresholds(form, given, mostly, severity), store, limit)


def _thresholds(
    form: Form,
    given: dict[str, Threshold | None],
    mostly: Threshold | None,
    severity: Severity,
) -> Thresholds | None:
    """Return dbt's meaning: what is not said is any row; a warning is never an error."""
    if mostly is not None:
        is_error = severity is Severity.ERROR
        return Thresholds(mostly) if is_error else Thresholds(None, mostly)
    if not given:
        return None
    warning, error = (given.get(key) or ANY_ROW for key in _IF)
    if severity is not Severity.ERROR:
        if "error_if" in given:
            _idle(form, "error_if", "the severity is warning, so nothing is an error")
        return Thresholds(None, warning)
    if "error_if" not in given and warning != ANY_ROW:
        _idle(form, "warn_if", "without error_if a single failing row is an error")
    return Thresholds(error, warning)


def _given(form: Form, key: str) -> Threshold | None:
    node = form.section.find(key)
    found = threshold_of(str(node.value)) if node is not None else None
    if found is None:
        form.section.bad(key, _EXPECTED, 'quote it: "> 10"')
    return found


def _mostly(form: Form) -> Threshold | None:
    """Return the share of failing rows that is too large where so many must hold."""
    node = form.section.find("mostly")
    if node is None:
        return None
    value = node.value
    number = number_of(value) if isinstance(value, str | int | float) else None
    if number is None or not 0 < number <= 1:
        sentence = f"mostly is {value}; it must be more than 0 and at most 1"
        hint = "0.95 lets at most 5 % of the rows fail"
        form.report("mostly", "percent-out-of-range", sentence, hint)
        return None
    share = (100 * (1 - number)).normalize()
    return Threshold(">", share or Decimal(0), percent=True)


def _counts(rule: Rule | None) -> bool:
    is_of_rows = isinstance(rule, ColumnCheck) and not rule.condition.aggregates
    return is_of_rows or isinstance(rule, (*_SHARED, SqlCheck))


def _is_share(found: Threshold | None) -> bool:
    return found is not None and found.percent


def _idle(form: Form, key: str, sentence: str) -> None:
    hint = {
        "limit": "write store_failures: true, or take it out",
        "store_failures": "take it out",
        "error_if": "write warn_if, or severity: error",
        "warn_if": "give error_if as well, or severity: warning",
    }[key]
    place = form.section.place(key)
    code, warning = "option-without-effect", Severity.WARNING
    form.section.findings.append(Finding(place, code, sentence, hint, warning))
