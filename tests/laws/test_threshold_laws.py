"""Thresholds on failing rows: read back as they are shown, and exact whatever the numbers."""

from __future__ import annotations

from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from penstock.core.checks.check import SIGNS, Threshold, Thresholds
from penstock.core.findings import Severity
from penstock.project.checks.check import threshold_of

COUNTS = st.integers(0, 10**9)
SHARES = st.decimals(0, 100, places=3, allow_nan=False, allow_infinity=False)
SIGNED = st.sampled_from(sorted(SIGNS))


@st.composite
def thresholds(draw):
    percent = draw(st.booleans())
    values = SHARES if percent else COUNTS.map(Decimal)
    if draw(st.booleans()):
        return Threshold(draw(SIGNED), draw(values), percent=percent)
    low, high = sorted((draw(values), draw(values)))
    return Threshold("between", low, high, percent)


@given(thresholds())
def test_a_threshold_reads_back_as_it_is_shown(threshold):
    assert threshold_of(str(threshold)) == threshold


@given(thresholds(), st.integers(0, 10**6), st.integers(0, 10**6))
def test_a_share_is_met_as_the_products_of_whole_numbers_say(threshold, failures, more):
    rows = failures + more
    scale = 1000 * (rows or 1) if threshold.percent else 1000
    found = 100 * failures * 1000 if threshold.percent else failures * 1000
    low = int(threshold.value * 1000) * scale // 1000
    high = low if threshold.upto is None else int(threshold.upto * 1000) * scale // 1000
    naive = {
        ">": found > low,
        ">=": found >= low,
        "<": found < low,
        "<=": found <= low,
        "=": found == low,
        "!=": found != low,
        "between": low <= found <= high,
    }

    assert threshold.is_met(failures, rows) == naive[threshold.sign]


@given(COUNTS, COUNTS, st.integers(1, 10**9))
def test_more_failing_rows_are_never_less_grave(fewer, more, limit):
    said = Thresholds(Threshold(">", Decimal(2 * limit)), Threshold(">", Decimal(limit)))
    order = (None, Severity.WARNING, Severity.ERROR)
    low, high = sorted((fewer, more))

    graver = [order.index(said.severity_of(each, each)) for each in (low, high)]

    assert graver == sorted(graver)
