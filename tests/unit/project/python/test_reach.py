from __future__ import annotations

import pytest

from penstock.project.python import statement
from penstock.project.python.reach import Reach
from penstock.project.python.texts import ModuleTexts

READS = statement.reads_of
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


def normalised(source: str, name: str, modules: dict[str, str]) -> str:
    """Return the code of a function of a module, and of what it reaches."""
    home = next((module for module, text in modules.items() if text == source), "")
    reach = Reach(ModuleTexts({**modules, home: source}))
    reach.add([(home, name)])
    reach.follow()
    return reach.text()


def edited(old: str, new: str) -> str:
    """Return the normal form of `daily` after an edit of either module."""
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
def test_comments_and_what_is_not_called_change_nothing(old, new):
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
def test_a_called_helper_a_constant_and_the_function_count(old, new):
    assert edited(old, new) != PLAIN


def test_helpers_are_found_through_modules_packages_and_stars():
    modules = {
        "lib": "from .inner import *\nfrom .deep import third as renamed",
        "lib.inner": "def first(): return 1",
        "lib.deep": "class third:\n    x: int = 2\n    y: 'str'",
    }
    source = (
        "import lib\nfrom lib import inner\n\ndef f(): return lib.renamed, inner.first, lib.first"
    )

    assert normalised(source, "f", modules) == (
        "def f():\n    return (lib.renamed, inner.first, lib.first)\n"
        "class third:\n    x: int = 2\n    y: str\n"
        "def first():\n    return 1"
    )


def test_functions_that_call_each_other_end():
    source = "def f(): return g()\ndef g(): return f()"

    assert normalised(source, "g", {}) == "def g():\n    return f()\ndef f():\n    return g()"


@pytest.mark.parametrize(
    ("module", "old", "new"),
    [
        ("R = []\nR.append(3)\ndef t(): return R", "append(3)", "append(4)"),
        ("R = {}\nR['a'] = 3\ndef t(): return R", "= 3", "= 4"),
        ("R = {}\nfor k in (1, 2):\n    R[k] = k\ndef t(): return R", "1, 2", "1, 2, 3"),
        ("for K in (3,):\n    pass\ndef t(): return K", "(3,)", "(4,)"),
        ("D = 1\nif D:\n    K = 1\nelse:\n    K = 2\ndef t(): return K", "D = 1", "D = 0"),
        ("with opened(3) as K:\n    pass\ndef t(): return K", "(3)", "(4)"),
        ("(K := 3)\ndef t(): return K", "3", "4"),
        ("match 3:\n    case K:\n        pass\ndef t(): return K", "match 3", "match 4"),
        ("K = 1\ndef init():\n    global K\n    K = 3\ndef t(): return K", "= 3", "= 4"),
        ("class C: pass\nC.a = 3\ndef t(): return C.a", "= 3", "= 4"),
    ],
)
def test_whatever_a_module_does_to_a_name_counts(module, old, new):
    assert old in module
    assert normalised(module, "t", {}) != normalised(module.replace(old, new), "t", {})


@pytest.mark.parametrize(
    "module",
    [
        (
            "from shop.helpers import clean\nimport shop.helpers\nshop.helpers.X = 1\n"
            "def t(): return clean()"
        ),
        (
            "if A:\n    from shop.helpers import clean\nelse:\n    from json import clean\n"
            "def t(): return clean()"
        ),
        (
            "from shop.helpers import clean\ndef t(): return clean()\n"
            "def other():\n    from json import clean"
        ),
        "def t():\n    from shop.helpers import clean\n    return clean()",
        "class C:\n    from shop.helpers import clean\ndef t(): return C.clean()",
        "import shop.helpers\nshop.helpers.X = 1\ndef t(): return shop.helpers.clean()",
        ("import importlib\ndef t(): return importlib.import_module('shop.helpers').clean()"),
    ],
)
def test_a_helper_counts_however_it_is_imported(module):
    edited = HELPERS.replace("LIMIT = 3", "LIMIT = 4")

    before = normalised(module, "t", {"shop.helpers": HELPERS})

    assert before != normalised(module, "t", {"shop.helpers": edited})


def test_what_a_script_does_when_it_is_called_counts_for_no_function():
    module = "K = [1]\ndef t(): return K\nif __name__ == '__main__':\n    print(K)\n"

    assert normalised(module, "t", {}) == normalised(module.replace("print(K)", "0"), "t", {})


def test_a_helper_of_many_functions_is_read_once(monkeypatch):
    read = []
    monkeypatch.setattr(statement, "reads_of", lambda node: read.append(node) or READS(node))
    shared = "def shared():\n    return 1\n"
    module = shared + "".join(f"def f{n}():\n    return shared()\n" for n in range(50))

    found = {normalised(module, f"f{n}", {}) for n in range(50)}

    assert len(found) == 50
    assert len(read) == 51


def test_a_chain_of_a_thousand_constants_moves_with_the_clock_at_its_end():
    chain = "".join(f"A{n} = A{n - 1}\n" for n in range(1, 2000))
    reach = Reach(ModuleTexts({"m": f"import time\nA0 = time.time()\nB = 1\n{chain}"}))

    assert reach.moves(("m", "A1999"))
    assert not reach.moves(("m", "B"))
