"""The docs know the code: every error that can be printed, every file and contract they name."""

import ast
import re
import tomllib
from functools import cache

from house.source import ROOT, SRC, files, found, place

DOCS = ROOT / "docs"
LEAST_EXAMPLES = 50
WITH_CODE_FIRST = (
    "StepFailure",
    "Problem",
    "_early",
    "raise_sql",
    "refused",
    "_report",
)  # and errors: (code, …)
WITH_CODE_SECOND = (
    "Finding",
    "Rule",
    "_note",
    "say",
    "_rerun_error",
    "_refusal",
)  # (where, code, …)
WITH_CODE_SOMEWHERE = ("report", "warn")  # of a template: (code, …); of a config: (key, code, …)
KEBAB = re.compile(r"[a-z]+(-[a-z]+)+")
IN_A_NOTE = re.compile(r"(?:^|: )([a-z]+(?:-[a-z]+)+): ")
PHASES = ("before", "after")
SPARKS_OWN = "spark-…"  # the conditions of Spark, which penstock does not list


def test_every_error_code_is_explained_in_the_docs():
    explained = set(explained_codes())

    assert [f"{where}: {code}" for code, where in codes().items() if code not in explained] == []


def test_the_docs_explain_no_code_that_is_gone_and_none_twice():
    explained = explained_codes()

    assert set(explained) - codes().keys() == {SPARKS_OWN}
    assert [code for code in explained if explained.count(code) > 1] == []


def test_codes_are_kebab_case():
    assert [
        code for code in codes() if code != code.lower() or not code.replace("-", "").isalnum()
    ] == []


def test_codes_are_found_in_the_source():
    assert {
        "bad-value",  # Finding(…) and errors
        "crashed",  # StepFailure(…)
        "duplicate-keys",  # Rule(…)
        "lease-held",  # super().__init__(…)
        "missing-var",  # a template's report(…)
        "option-conflict",  # a config's report(…)
        "option-without-effect",  # warn(…)
        "spark-error",  # condition(…) or "…"
        "unparsed-sql",  # Problem(…)
    } <= codes().keys()


def test_docstrings_show_examples():
    shown = sum(path.read_text(encoding="utf-8").count(">>> ") for path in files())

    assert shown >= LEAST_EXAMPLES, "doctests went missing; raise the number as they grow"


def test_the_architecture_page_names_contracts_that_exist():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = {c["name"] for c in settings["tool"]["importlinter"]["contracts"]}

    assert set(re.findall(r'contract "(.+?)"', architecture())) == contracts


def test_the_architecture_page_names_files_that_exist():
    named = re.findall(r"`([\w./]+/[\w./]*|\w+\.toml)`", architecture())

    missing = [n for n in named if not (ROOT / n).exists() and not (SRC / n).exists()]

    assert named
    assert missing == []


def architecture():
    return (DOCS / "ARCHITECTURE.md").read_text(encoding="utf-8")


def explained_codes():
    """Give the codes that head a row of docs/errors.md."""
    text = (DOCS / "errors.md").read_text(encoding="utf-8")
    return re.findall(r"^\| `(.+?)` \|", text, re.MULTILINE)


@cache
def codes():
    """Give every literal code with the first place that uses it."""
    with_code_first = (*errors(), *WITH_CODE_FIRST)
    result = {}
    for path in files():
        for node in found(path, ast.Call):
            code = code_of(node, with_code_first)
            if code is not None:
                result.setdefault(code, place(path, node))
        for node in found(path, ast.expr | ast.stmt):
            for code in told(node):
                result.setdefault(code, place(path, node))
        for node in found(path, ast.ClassDef):
            for code in codes_of_super(node, with_code_first):
                result.setdefault(code, place(path, node))
    return result


def told(node):
    """Find codes that are yielded, returned or named, those of notes, and those with hints."""
    match node:
        case (
            ast.Yield(value=ast.Tuple(elts=[ast.Constant(value=str(code)), _, _]))
            | ast.Return(value=ast.Tuple(elts=[ast.Constant(value=str(code)), _, _]))
        ):
            given = [code]
        case ast.Assign(targets=[target], value=value):
            given = [named_code(target, value)]
        case ast.Dict(values=[ast.Tuple(elts=[ast.Constant(), ast.Constant()]), *_] as values):
            given = [literal_in(value) for value in values]
        case ast.JoinedStr(values=[ast.FormattedValue(), ast.Constant(value="-check-failed")]):
            given = [f"{phase}-check-failed" for phase in PHASES]
        case ast.JoinedStr(values=values):
            texts = [value.value for value in values if isinstance(value, ast.Constant)]
            given = [code for text in texts for code in IN_A_NOTE.findall(text)]
        case _:
            given = []
    return [code for code in given if KEBAB.fullmatch(code)]


def named_code(target, value):
    """Give the text of `code = "…"`, `code, warning = "…", …` and `CHECK_ERROR = "…"`."""
    match target, value:
        case ast.Tuple(elts=[target, *_]), ast.Tuple(elts=[value, *_]):
            return named_code(target, value)
        case ast.Name(id=name), (
            ast.Constant(value=str(code)) | ast.IfExp(body=ast.Constant(value=str(code)))
        ) if name.lower().endswith(("code", "error")):
            return code
    return ""


def literal_in(value):
    match value:
        case ast.Tuple(elts=[ast.Constant(value=str(code)), _]):
            return code
    return ""


@cache
def errors():
    """Give the names of PenstockError and of every class below it."""
    parents = {
        node.name: {name_of(parent) for parent in node.bases}
        for path in files()
        for node in found(path, ast.ClassDef)
    }
    tree = {"PenstockError"}
    while more := {name for name, above in parents.items() if above & tree} - tree:
        tree |= more
    return tree


def code_of(call, with_code_first):
    name = name_of(call.func)
    if name in WITH_CODE_SECOND:
        return literal(call, 1)
    if name in WITH_CODE_SOMEWHERE:
        given = (literal(call, position) or "" for position in (0, 1))
        return next((text for text in given if KEBAB.fullmatch(text)), None)
    return literal(call, 0) if name in with_code_first else None


def codes_of_super(node, with_code_first):
    """Find `super().__init__("code", …)` in a class of the tree."""
    if node.name not in with_code_first:
        return
    for call in ast.walk(node):
        match call:
            case ast.Call(func=ast.Attribute(value=ast.Call(func=ast.Name(id="super")))):
                code = literal(call, 0)
                if code is not None:
                    yield code


def literal(call, position):
    given = [k.value for k in call.keywords if k.arg == "code"] or call.args[
        position : position + 1
    ]
    match given:
        case [
            ast.Constant(value=str(code)) | ast.BoolOp(values=[_, ast.Constant(value=str(code))])
        ]:
            return code
    return None


def name_of(node):
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""
