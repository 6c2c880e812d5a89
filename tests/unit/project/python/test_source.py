from __future__ import annotations

import pytest

from penstock.project.python.source import normalised

HELPERS = """
LIMIT = 3

def clean(frame):
    return frame.limit(LIMIT)

def unused(frame):
    return frame
"""
MODEL = """
from pyspark.sql import functions as F

from shop.helpers import clean

def daily(events, run_date: str) -> object:
    \"\"\"Count events.\"\"\"
    return clean(events).groupBy("date").agg(F.count("*"))

def other(events):
    return events
"""
MODULES = {"shop.models": MODEL, "shop.helpers": HELPERS}
PLAIN = """\
def daily(events, run_date):
    return clean(events).groupBy('date').agg(F.count('*'))
LIMIT = 3
def clean(frame):
    return frame.limit(LIMIT)
import pyspark.sql.functions as F"""


def edited(old: str, new: str) -> str:
    """Give the normal form of `daily` after an edit of either module."""
    assert old in MODEL + HELPERS
    modules = {name: text.replace(old, new) for name, text in MODULES.items()}
    return normalised(modules["shop.models"], "daily", modules)


def test_a_function_stands_with_all_that_it_reaches():
    assert normalised(MODEL, "daily", MODULES) == PLAIN


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    return clean", "    # a comment\n    return clean"),
        ('"""Count events."""', '"""Say something else."""'),
        (" -> object", ""),
        ("run_date: str", "run_date"),
        ('"date"', "'date'"),
        ("LIMIT = 3", "LIMIT: int = 3"),
        ("def unused(frame):\n    return frame", "def unused(frame):\n    return None"),
        ("def other(events):\n    return events", "def other(events):\n    return 1"),
        ("from pyspark.sql import functions as F", "import pyspark.sql.functions as F"),
        ("def daily", "@app.table(description='Daily.', tags=['new'])\ndef daily"),
        ("def daily", "@model\ndef daily"),
    ],
)
def test_DV17_comments_and_what_is_not_called_change_nothing(old, new):
    assert edited(old, new) == PLAIN


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("frame.limit(LIMIT)", "frame.limit(LIMIT + 1)"),
        ("LIMIT = 3", "LIMIT = 4"),
        ('"date"', '"day"'),
        ("run_date: str", "day: str"),
        ("def daily", "@cached\ndef daily"),
        ("functions as F", "window as F"),
    ],
)
def test_DV17_a_called_helper_a_constant_and_the_function_count(old, new):
    assert edited(old, new) != PLAIN


def test_helpers_are_found_through_modules_packages_and_stars():
    modules = {
        "lib": "from .inner import *\nfrom .deep import third as renamed",
        "lib.inner": "def first(): return 1",
        "lib.deep": "class third:\n    x: int = 2\n    y: str",
    }
    source = (
        "import lib\nfrom lib import inner\n\ndef f(): return lib.renamed, inner.first, lib.first"
    )

    assert normalised(source, "f", modules) == (
        "def f():\n    return (lib.renamed, inner.first, lib.first)\n"
        "class third:\n    x: ... = 2\n    y: ...\n"
        "def first():\n    return 1"
    )


def test_functions_that_call_each_other_end():
    source = "def f(): return g()\ndef g(): return f()"

    assert normalised(source, "g", {}) == "def g():\n    return f()\ndef f():\n    return g()"


def test_a_name_that_the_module_does_not_bind_is_refused():
    with pytest.raises(KeyError):
        normalised("x = 1", "f", {})
