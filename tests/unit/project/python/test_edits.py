"""Everyday edits of a project: those that may change rows are seen, all others are not reported."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, field

import pytest

HEAD = """\
from penstock import model, source, table
@source
def logs(spark): ...
"""
MODEL = "models/m/t.py"


@dataclass(frozen=True)
class Edit:
    """An edit of one file of a project whose table is `t`; `file` "" is the model's own."""

    name: str
    text: str
    old: str
    new: str
    helpers: dict[str, str] = field(default_factory=dict)
    file: str = ""

    def meanings(self, files) -> tuple[str, str]:
        """Return the fingerprint of the code before and after."""
        for path, text in self.helpers.items():
            files.write(path, text)
        files.write(MODEL, HEAD + textwrap.dedent(self.text))
        before = files.load().models["t"].fingerprint.canonical
        edited = files.root / (self.file or MODEL)
        text = edited.read_text()
        assert text.count(self.old) >= 1
        edited.write_text(text.replace(self.old, self.new))
        return before, files.load().models["t"].fingerprint.canonical


T = "\n@table\ndef t(logs):\n    return {}\n"


def own(name: str, before: str, result: str, old: str, new: str) -> Edit:
    """Return an edit of the model's own file, whose function returns `result`."""
    return Edit(name, textwrap.dedent(before) + T.format(result), old, new)


def other(name: str, line: str, result: str, helper: str, old: str, new: str) -> Edit:
    """Return an edit of `lib/h.py`, which the model imports with `line`."""
    return Edit(name, f"{line}\n" + T.format(result), old, new, {"lib/h.py": helper}, "lib/h.py")


HELPER = "RATE = 3\n\ndef clean(frame):\n    return frame.limit(RATE)\n"

SEEN = [
    # the function and what it names
    own("an operator", "", "logs.where('a > 1')", "a > 1", "a >= 1"),
    own("a constant", "RATE = 3", "logs.limit(RATE)", "RATE = 3", "RATE = 4"),
    own("a constant with a type", "RATE: int = 3", "logs.limit(RATE)", "= 3", "= 4"),
    own("a constant of a constant", "A = 1\nB = A + 1", "logs.limit(B)", "A = 1", "A = 2"),
    own("a helper", "def f(x):\n    return x.limit(1)", "f(logs)", "limit(1)", "limit(2)"),
    own("a lambda", "f = lambda x: x.limit(1)", "f(logs)", "limit(1)", "limit(2)"),
    own("an f-string", "C = 'a'\nQ = f'{C} > 1'", "logs.where(Q)", "'a'", "'b'"),
    own("a walrus", "(RATE := 3)", "logs.limit(RATE)", "3", "4"),
    own("a comprehension", "R = [n for n in range(3)]", "logs.select(R)", "range(3)", "range(4)"),
    own("an unpacked tuple", "A, *B = 1, 2, 3", "logs.limit(B[0])", "1, 2, 3", "1, 5, 3"),
    own("an augmented constant", "R = 1\nR += 1", "logs.limit(R)", "R += 1", "R += 2"),
    own("a changed dict", "R = {}\nR['a'] = 1", "logs.limit(R['a'])", "= 1", "= 2"),
    own("an appended list", "R = []\nR.append(1)", "logs.limit(R[0])", "append(1)", "append(2)"),
    own("the order of a dict", "R = {'a': 1, 'b': 2}", "logs.select(*R)", "'a': 1, 'b': 2",
        "'b': 2, 'a': 1"),
    own("a default", "def f(x, n=1):\n    return x.limit(n)", "f(logs)", "n=1", "n=2"),
    own("a default that is computed", "N = [1]\ndef f(x, n=len(N)):\n    return x.limit(n)",
        "f(logs)", "[1]", "[1, 2]"),
    own("a keyword of a call", "def f(x, n=1):\n    return x.limit(n)", "f(logs, n=3)", "n=3",
        "n=4"),
    own("a nested function", "def f(x):\n    def g():\n        return 1\n    return x.limit(g())",
        "f(logs)", "return 1", "return 2"),
    own("a nonlocal", "def f(x):\n    n = 1\n    def g():\n        nonlocal n\n        n += 1\n"
        "    g()\n    return x.limit(n)", "f(logs)", "n += 1", "n += 2"),
    own("a generator", "def f():\n    yield 1\n    yield 2", "logs.select(*f())", "yield 2",
        "yield 3"),
    own("a context manager", "from contextlib import contextmanager\n@contextmanager\ndef c():\n"
        "    yield 3\ndef f(x):\n    with c() as n:\n        return x.limit(n)", "f(logs)",
        "yield 3", "yield 4"),
    own("a recursion", "def f(n):\n    return 1 if n < 2 else f(n - 1)", "logs.limit(f(3))",
        "else f(n - 1)", "else f(n - 2)"),
    own("a condition at module level", "D = 0\nif D:\n    R = 1\nelse:\n    R = 2",
        "logs.limit(R)", "D = 0", "D = 1"),
    own("a try at module level", "try:\n    R = int('x')\nexcept ValueError:\n    R = 2",
        "logs.limit(R)", "R = 2", "R = 3"),
    own("a fallback of an import", "try:\n    from nowhere import f\nexcept ImportError:\n"
        "    def f(x):\n        return x.limit(1)", "f(logs)", "limit(1)", "limit(2)"),
    own("a match at module level", "match 3:\n    case R:\n        pass", "logs.limit(R)",
        "match 3", "match 4"),
    own("a loop at module level", "R = {}\nfor k in (1, 2):\n    R[k] = k", "logs.limit(R[1])",
        "(1, 2)", "(1, 2, 3)"),
    own("a global that a call sets", "R = 0\ndef setup(n):\n    global R\n    R = n\nsetup(1)",
        "logs.limit(R)", "setup(1)", "setup(2)"),
    own("a deleted name", "R = 1\nS = 2\nif S:\n    del S", "logs.limit(len(globals().get('S', [])"
        ") if False else R)", "R = 1", "R = 2"),
    # decorators, partials, wrapped functions
    own("a decorator", "def d(f):\n    return lambda x: f(x).limit(1)\n@d\ndef f(x):\n    return x",
        "f(logs)", "limit(1)", "limit(2)"),
    own("an argument of a decorator", "def d(n):\n    return lambda f: lambda x: f(x).limit(n)\n"
        "@d(1)\ndef f(x):\n    return x", "f(logs)", "@d(1)", "@d(2)"),
    own("a decorator that is added", "def d(f):\n    return lambda x: f(x).limit(1)\ndef f(x):\n"
        "    return x", "f(logs)", "def f(x)", "@d\ndef f(x)"),
    own("a partial", "from functools import partial\ndef g(x, n):\n    return x.limit(n)\n"
        "f = partial(g, n=1)", "f(logs)", "n=1", "n=2"),
    own("a cached function", "from functools import lru_cache\n@lru_cache\ndef n():\n    return 1",
        "logs.limit(n())", "return 1", "return 2"),
    own("a closure", "def make(n):\n    return lambda x: x.limit(n)\nf = make(1)", "f(logs)",
        "make(1)", "make(2)"),
    own("an attribute of a function", "def f(x):\n    return x.limit(f.n)\nf.n = 1", "f(logs)",
        "f.n = 1", "f.n = 2"),
    # classes
    own("an attribute of a class", "class C:\n    n = 1", "logs.limit(C.n)", "n = 1", "n = 2"),
    own("a method", "class C:\n    def f(self, x):\n        return x.limit(1)", "C().f(logs)",
        "limit(1)", "limit(2)"),
    own("a property", "class C:\n    @property\n    def n(self):\n        return 1",
        "logs.limit(C().n)", "return 1", "return 2"),
    own("a class method", "class C:\n    @classmethod\n    def n(cls):\n        return 1",
        "logs.limit(C.n())", "return 1", "return 2"),
    own("a method of a base", "class B:\n    def n(self):\n        return 1\nclass C(B): ...",
        "logs.limit(C().n())", "return 1", "return 2"),
    own("an override that is added", "class B:\n    n = 1\nclass C(B):\n    m = 2",
        "logs.limit(C.n)", "m = 2", "m = 2\n    n = 3"),
    own("an attribute set later", "class C: ...\nC.n = 1", "logs.limit(C.n)", "= 1", "= 2"),
    own("a default of a dataclass", "from dataclasses import dataclass\n@dataclass\nclass C:\n"
        "    n: int = 1", "logs.limit(C().n)", "= 1", "= 2"),
    own("a type of a dataclass", "from dataclasses import dataclass\n@dataclass\nclass C:\n"
        "    n: int", "logs.select(*C.__dataclass_fields__)", "n: int", "n: str"),
    own("a type of a typed dict", "from typing import TypedDict\nclass C(TypedDict):\n    n: int",
        "logs.select(C.__annotations__)", "n: int", "n: str"),
    own("a type of a named tuple", "from typing import NamedTuple\nclass C(NamedTuple):\n"
        "    n: int", "logs.select(C._fields)", "n: int", "n: float"),
    own("a type of a pydantic model", "from pydantic import BaseModel\nclass C(BaseModel):\n"
        "    n: int", "logs.select(*C.model_fields)", "n: int", "n: str"),
    own("an alias in a field", "from pydantic import BaseModel\nK = int\nclass C(BaseModel):\n"
        "    n: K", "logs.select(*C.model_fields)", "K = int", "K = str"),
    own("a type in quotes", "from pydantic import BaseModel\nK = int\nclass C(BaseModel):\n"
        "    n: 'K'", "logs.select(*C.model_fields)", "K = int", "K = str"),
    own("a member of an enum", "from enum import Enum\nclass E(Enum):\n    A = 1",
        "logs.limit(E.A.value)", "A = 1", "A = 2"),
    own("__init_subclass__", "class B:\n    kinds = []\n    def __init_subclass__(cls):\n"
        "        B.kinds.append(cls)\nclass C(B):\n    n = 1", "logs.select([k.n for k in B.kinds])",
        "n = 1", "n = 2"),
    own("a subclass", "class B: ...\nclass C(B):\n    n = 1",
        "logs.select([k.n for k in B.__subclasses__()])", "n = 1", "n = 2"),
    # annotations that somebody reads
    own("a hint of a decorated function", "def hints(f):\n    return f.__annotations__\n@hints\ndef f(x: int): ...",
        "logs.select(f)", "x: int", "x: str"),
    own("a hint of a function that is passed on", "from typing import get_type_hints\n"
        "def f(x: int): ...", "logs.select(get_type_hints(f))", "x: int", "x: str"),
    own("a result of a function in a list", "def f(x) -> int: ...\nR = [f]", "logs.select(R)",
        "-> int", "-> str"),
    Edit("a hint of a function inside", "def udf(f): return f\n@table\ndef t(logs):\n"
         "    def g(x: int): return x\n    return logs.select(udf(g))\n", "x: int", "x: str"),
    # registries
    own("a rule of a registry", "R = []\ndef rule(f):\n    R.append(f)\n    return f\n@rule\n"
        "def a(x):\n    return x.limit(1)", "R[0](logs)", "limit(1)", "limit(2)"),
    own("a rule that is added", "R = []\ndef rule(f):\n    R.append(f)\n    return f\n@rule\n"
        "def a(x):\n    return x.limit(1)", "R[0](logs)", "@rule\ndef a",
        "@rule\ndef b(x):\n    return x\n@rule\ndef a"),
    own("a rule by a name", "R = {}\ndef rule(n):\n    return lambda f: R.setdefault(n, f)\n"
        "@rule('a')\ndef a(x):\n    return x.limit(1)", "R['a'](logs)", "limit(1)", "limit(2)"),
    own("singledispatch", "from functools import singledispatch\n@singledispatch\ndef f(x):\n"
        "    return 1\n@f.register\ndef _(x: int):\n    return 2", "logs.limit(f(3))", "return 2",
        "return 3"),
    own("a type of singledispatch", "from functools import singledispatch\n@singledispatch\n"
        "def f(x):\n    return 1\n@f.register\ndef _(x: int):\n    return 2", "logs.limit(f(3))",
        "x: int", "x: str"),
    Edit("a rule in a file imported for its effect", "import lib.rules\nfrom lib.reg import R\n"
         + T.format("R[0](logs)"), "limit(1)", "limit(2)",
         {"lib/reg.py": "R = []\ndef rule(f):\n    R.append(f)\n    return f\n",
          "lib/rules.py": "from lib.reg import rule\n@rule\ndef a(x):\n    return x.limit(1)\n"},
         "lib/rules.py"),
    Edit("a rule in another file of models", "from lib.reg import R\n" + T.format("R[0](logs)"),
         "limit(1)", "limit(2)",
         {"lib/reg.py": "R = []\ndef rule(f):\n    R.append(f)\n    return f\n",
          "models/m/rules.py": "from lib.reg import rule\n@rule\ndef a(x):\n    return x.limit(1)\n"},
         "models/m/rules.py"),
    Edit("a lambda in a registry of another file", "import lib.rules\nfrom lib.reg import R\n"
         + T.format("R[0](logs)"), "limit(1)", "limit(2)",
         {"lib/reg.py": "R = []\n",
          "lib/rules.py": "from lib.reg import R\nR.append(lambda x: x.limit(1))\n"},
         "lib/rules.py"),
    Edit("a global that another file sets", "import lib.conf\nimport lib.h\n"
         + T.format("logs.limit(lib.h.RATE)"), "setup(1)", "setup(2)",
         {"lib/h.py": "RATE = 0\ndef setup(n):\n    global RATE\n    RATE = n\n",
          "lib/conf.py": "from lib.h import setup\nsetup(1)\n"}, "lib/conf.py"),
    Edit("a patch of another file", "import lib.h, lib.patch\n" + T.format("lib.h.clean(logs)"),
         "limit(1)", "limit(2)",
         {"lib/h.py": HELPER, "lib/patch.py": "import lib.h\nlib.h.clean = lambda x: x.limit(1)\n"},
         "lib/patch.py"),
    # other files
    other("from x import y", "from lib.h import clean", "clean(logs)", HELPER, "= 3", "= 4"),
    other("from x import y as z", "from lib.h import clean as c", "c(logs)", HELPER, "= 3", "= 4"),
    other("import x", "import lib.h", "lib.h.clean(logs)", HELPER, "limit(RATE)", "limit(1)"),
    other("import x as y", "import lib.h as h", "h.clean(logs)", HELPER, "= 3", "= 4"),
    other("a star import", "from lib.h import *", "clean(logs)", HELPER, "= 3", "= 4"),
    other("from x import module", "from lib import h", "h.clean(logs)", HELPER, "= 3", "= 4"),
    other("getattr of a module", "import lib.h", "getattr(lib.h, 'cle' + 'an')(logs)", HELPER,
          "= 3", "= 4"),
    other("import_module by a text", "from importlib import import_module",
          "import_module('lib.h').clean(logs)", HELPER, "= 3", "= 4"),
    Edit("a relative import", "from .h import clean\n" + T.format("clean(logs)"), "= 3", "= 4",
         {"models/m/h.py": HELPER}, "models/m/h.py"),
    Edit("a constant handed on by a package", "from lib import RATE\n"
         + T.format("logs.limit(RATE)"), "= 3", "= 4",
         {"lib/__init__.py": "from .h import RATE\n", "lib/h.py": HELPER}, "lib/h.py"),
    Edit("an import inside the function", "@table\ndef t(logs):\n    from lib.h import clean\n"
         "    return clean(logs)\n", "= 3", "= 4", {"lib/h.py": HELPER}, "lib/h.py"),
    Edit("an import for its effect inside the function", "from lib.reg import R\n@table\n"
         "def t(logs):\n    import lib.rules\n    return R[0](logs)\n", "limit(1)", "limit(2)",
         {"lib/reg.py": "R = []\n",
          "lib/rules.py": "from lib.reg import R\nR.append(lambda x: x.limit(1))\n"},
         "lib/rules.py"),
    Edit("a file read at import", "from pathlib import Path\n"
         "Q = Path(__file__).parent.joinpath('q.sql').read_text()\n" + T.format("logs.where(Q)"),
         "a > 1", "a > 2", {"models/m/q.sql": "{{ config(enabled=false) }} select 1 where a > 1"},
         "models/m/q.sql"),
    Edit("JSON read at import by a helper", "from lib.h import CONF\n"
         + T.format("logs.limit(CONF['n'])"), "1", "2",
         {"lib/h.py": "import json\nfrom pathlib import Path\n"
          "CONF = json.loads(Path(__file__).with_name('c.json').read_text())\n",
          "lib/c.json": '{"n": 1}'}, "lib/c.json"),
    own("a docstring that is read", "def f():\n    '''a > 1'''", "logs.where(f.__doc__)", "a > 1",
        "a > 2"),
    Edit("the docstring of the module", "@table\ndef t(logs):\n    from lib.h import q\n"
         "    return logs.where(q())\n", "a > 1", "a > 2",
         {"lib/h.py": "'''a > 1'''\ndef q():\n    return __doc__\n"}, "lib/h.py"),
]  # fmt: skip
READ = """\
import json
from pathlib import Path
N = json.loads(Path(__file__).with_name('n.json').read_text())
"""
ROUTES = {
    "a global": ("", "logs.limit(N)"),
    "an item of a dict": ("D = {'a': [N]}", "logs.limit(D['a'][0])"),
    "a default": ("def f(x, n=N):\n    return x.limit(n)", "f(logs)"),
    "a default by a keyword": ("def f(x, *, n=N):\n    return x.limit(n)", "f(logs)"),
    "a default of a lambda": ("f = lambda x, n=N: x.limit(n)", "f(logs)"),
    "a default of a method": ("class C:\n    def f(self, x, n=N):\n        return x.limit(n)",
                              "C().f(logs)"),
    "an attribute of a class": ("class C:\n    n = N", "logs.limit(C.n)"),
    "an attribute of an object": ("class C:\n    def __init__(self, n):\n        self.n = n\n"
                                  "c = C(N)", "logs.limit(c.n)"),
    "a bound method": ("class C:\n    def __init__(self, n):\n        self.n = n\n"
                       "    def f(self, x):\n        return x.limit(self.n)\nf = C(N).f", "f(logs)"),
    "a closure": ("def make(n):\n    return lambda x: x.limit(n)\nf = make(N)", "f(logs)"),
    "a partial": ("from functools import partial\ndef g(x, n): return x.limit(n)\n"
                  "f = partial(g, n=N)", "f(logs)"),
    "a partial of a partial": ("from functools import partial\ndef g(x, n, m): return x.limit(n)\n"
                               "f = partial(partial(g, n=N), m=1)", "f(logs)"),
    "a decorator": ("from functools import wraps\ndef d(n):\n    def deco(f):\n        @wraps(f)\n"
                    "        def inner(x):\n            return f(x).limit(n)\n        return inner\n"
                    "    return deco\n@d(N)\ndef f(x):\n    return x", "f(logs)"),
    "an enum": ("from enum import Enum\nclass E(Enum):\n    A = N", "logs.limit(E.A.value)"),
    "a dataclass": ("from dataclasses import dataclass\n@dataclass\nclass C:\n    n: int = N",
                    "logs.limit(C().n)"),
    "a decimal": ("from decimal import Decimal\nD = Decimal(N)", "logs.limit(D)"),
    "a pattern": ("import re\nP = re.compile(str(N))", "logs.where(P.pattern)"),
    "a frame": ("import pandas as pd\nF = pd.DataFrame({'a': [N]})", "logs.join(F)"),
    "a decorator of the model": ("from functools import wraps\ndef d(n):\n    def deco(f):\n"
                                 "        @wraps(f)\n        def inner(logs):\n"
                                 "            return f(logs).limit(n)\n        return inner\n"
                                 "    return deco", ""),
}  # fmt: skip


def routed(name: str, before: str, result: str) -> Edit:
    """Return an edit of a file of data whose value reaches the model on some way."""
    body = T.format(result) if result else "\n@table\n@d(N)\ndef t(logs):\n    return logs\n"
    files = {"models/m/n.json": "1"}
    return Edit(f"data by {name}", READ + before + body, "1", "2", files, "models/m/n.json")


SEEN += [routed(name, *each) for name, each in ROUTES.items()]

HARMLESS = [
    own("a comment", "RATE = 3  # three", "logs.limit(RATE)", "# three", "# rows"),
    own("a comment in a helper", "def f(x):\n    # say\n    return x", "f(logs)", "# say", "# do"),
    own("formatting", "R = {'a': 1, 'b': 2}", "logs.select(*R)", "'a': 1, 'b': 2",
        "\n    'a': 1,\n    'b': 2,\n"),
    own("quotes", "Q = 'a > 1'", "logs.where(Q)", "'a > 1'", '"a > 1"'),
    own("brackets", "R = (1 + 2)", "logs.limit(R)", "(1 + 2)", "1 + 2"),
    own("blank lines", "R = 1", "logs.limit(R)", "R = 1", "\n\nR = 1\n\n"),
    own("a docstring", "def f(x):\n    '''Say.'''\n    return x", "f(logs)", "Say.", "Do."),
    own("a docstring of a class", "class C:\n    '''Say.'''\n    n = 1", "logs.limit(C.n)", "Say.",
        "Do."),
    own("a docstring that is added", "def f(x):\n    return x", "f(logs)", "    return x",
        "    '''Do.'''\n    return x"),
    own("the order of imports", "import json\nimport math", "logs.limit(math.pi, json)",
        "import json\nimport math", "import math\nimport json"),
    own("the order of names in an import", "from math import e, pi", "logs.limit(e, pi)",
        "import e, pi", "import pi, e"),
    Edit("the order of imports inside", "@table\ndef t(logs):\n    import json\n    import math\n"
         "    return logs.limit(json, math)\n", "    import json\n    import math\n",
         "    import math\n    import json\n"),
    own("an import that is not used", "import json", "logs", "import json", "import math"),
    own("a function that is not used", "def f(): return 1", "logs", "return 1", "return 2"),
    own("a function that is added", "A = 1", "logs.limit(A)", "A = 1", "A = 1\ndef g(): ..."),
    own("the order of functions", "def f(x): return g(x)\ndef g(x): return x", "f(logs)",
        "def f(x): return g(x)\ndef g(x): return x", "def g(x): return x\ndef f(x): return g(x)"),
    own("a hint that nobody reads", "def f(x: int):\n    return x", "f(logs)", "x: int", "x: str"),
    own("a result that nobody reads", "def f(x) -> int:\n    return x", "f(logs)", " -> int", ""),
    own("a hint of a constant", "R: int = 1", "logs.limit(R)", "R: int", "R: float"),
    own("a hint of a property", "class C:\n    @property\n    def n(self) -> int:\n"
        "        return 1", "logs.limit(C().n)", "-> int", "-> float"),
    own("a hint of a cached function", "from functools import cache\n@cache\ndef n() -> int:\n"
        "    return 1", "logs.limit(n())", "-> int", "-> float"),
    own("a hint of the model itself", "", "logs", "def t(logs)", "def t(logs: object) -> object"),
    own("another model", "@table\ndef u(logs): return logs.limit(1)", "logs", "limit(1)",
        "limit(2)"),
    own("what a script does", "R = 1\nif __name__ == '__main__':\n    print(R)", "logs.limit(R)",
        "print(R)", "print(R + 1)"),
    own("an import for type checkers", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n"
        "    import json", "logs", "import json", "import math"),
    own("a clock", "import datetime\nR = 1\nNOW = datetime.datetime.now()",
        "logs.limit(R, NOW)", "R = 1", "R = 1  # one"),
    own("what a clock leads to", "import datetime as dt\nDAY = dt.date.today()\n"
        "SINCE = dt.datetime.now() - dt.timedelta(7)", "logs.limit(DAY, SINCE)", "DAY", "DAY "),
    own("an unseeded generator", "import random, uuid\nR = random.Random()\nU = uuid.uuid4()\n"
        "X = random.random()\nO = object()", "logs.limit(R, U, X, O)", "O = object()",
        "O = object() #"),
    own("locks and loggers", "import logging, threading\nL = threading.Lock()\n"
        "log = logging.getLogger('a')", "logs.limit(L, log)", "L = ", "L  = "),
    other("a comment in another file", "from lib.h import clean", "clean(logs)",
          HELPER + "# end\n", "# end", "# the end"),
    other("what another file has beside", "from lib.h import clean", "clean(logs)",
          HELPER + "OTHER = 1\n", "OTHER = 1", "OTHER = 2"),
    other("a docstring of another module", "from lib.h import clean", "clean(logs)",
          '"""Say."""\n' + HELPER, "Say.", "Do."),
    other("lines above a lambda", "from lib.h import R", "R[0](logs)",
          "R = []\nR.append(lambda x: x.limit(1))\n", "R = []", "\n# many\n\nR = []"),
    Edit("a registry beside", "from lib.reg import R\n" + T.format("R[0](logs)"), "# say", "# do",
         {"lib/reg.py": "R = []\ndef rule(f):\n    R.append(f)\n    return f\n",
          "models/m/rules.py": "from lib.reg import rule\n@rule\ndef a(x):\n    # say\n    return x\n"},
         "models/m/rules.py"),
]  # fmt: skip


@pytest.mark.parametrize("edit", SEEN, ids=lambda each: each.name)
def test_an_edit_that_may_change_rows_is_seen(files, edit):
    before, after = edit.meanings(files)

    assert before != after


@pytest.mark.parametrize("edit", HARMLESS, ids=lambda each: each.name)
def test_an_edit_that_changes_no_row_is_not_reported(files, edit):
    before, after = edit.meanings(files)

    assert before == after
