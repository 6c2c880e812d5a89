"""Every error and finding tells what to do: the hint of its place, or else that of its code."""

import ast
from functools import cache

from fakes.wording import internals, wrong_names
from house.source import files, found, place, tree
from house.test_docs import WITH_CODE_FIRST, code_of, codes, errors
from penstock.core.errors import UsageError
from penstock.core.findings import HINTS, Finding, Location


def test_a_code_has_a_hint_of_its_own_where_some_place_may_give_none():
    assert [f"{where}: {code}" for code, where in unhinted().items() if code not in HINTS] == []


def test_hints_of_codes_are_of_codes_that_there_are_and_fit_in_a_line():
    assert HINTS.keys() - codes().keys() == set()
    assert [code for code, hint in HINTS.items() if not hint or "\n" in hint] == []


def test_a_finding_and_an_error_without_a_hint_have_that_of_their_code():
    finding = Finding(Location("a.sql"), "not-utf8", "byte 0xe9 is not UTF-8")
    error = UsageError("not-utf8", "byte 0xe9 is not UTF-8")

    assert (finding.hint, error.hint) == (HINTS["not-utf8"],) * 2
    assert Finding(Location("a.sql"), "not-utf8", "it is not", "own").hint == "own"


def test_hints_name_commands_flags_and_keys_that_exist():
    hints = [*HINTS.items(), *((where, text) for where, text in texts() if "penstock" in text)]

    assert [(where, *wrong_names(text)) for where, text in hints if [*wrong_names(text)]] == []


def test_what_people_read_names_no_class_of_ours_or_of_a_library():
    assert [(where, *internals(text)) for where, text in texts() if internals(text)] == []


def test_a_sentence_takes_the_name_of_a_class_from_code_of_users_alone():
    named = {
        str(path.name)
        for path in files()
        for text in found(path, ast.JoinedStr)
        if any(isinstance(n, ast.Attribute) and n.attr == "__name__" for n in ast.walk(text))
    }

    assert named == NAMING


NAMING = {
    "declared_columns.py",  # bad-value: a class of users whose annotations declare columns
    "sections.py",  # bad-value: the type of an option of a decorator
    "commit.py",  # internal-error: a bug, with its traceback
    "functions.py",  # model-failed, and what a function returned
    "imports.py",  # python-import-failed
    "strategy.py",  # a bug
}


@cache
def texts():
    """Return place and text of the sentences and hints that errors and findings are made with."""
    with_code_first, result = (*errors(), *WITH_CODE_FIRST), []
    for path in files():
        for function, call in calls(tree(path)):
            code = code_of(call, with_code_first)
            if code is None:
                continue
            given = arguments(call)
            names = {n.id for arg in given for n in ast.walk(arg) if isinstance(n, ast.Name)}
            for node in (*given, *values_of(names, function)):
                result += [(f"{place(path, call)}: {code}", text) for text in words_of(node)]
    return result


def values_of(names, function):
    """Yield what a function binds to names."""
    for node in ast.walk(function) if function else ():
        for target in node.targets if isinstance(node, ast.Assign) else ():
            yield from (value for name, value in pairs(target, node.value) if name in names)


def arguments(call):
    return (*call.args, *(each.value for each in call.keywords))


def words_of(node):
    """Yield the texts of an expression; what is put in stands as X."""
    match node:
        case ast.JoinedStr(values=values):
            yield "".join(v.value if isinstance(v, ast.Constant) else "X" for v in values)
        case ast.Constant(value=str(text)):
            yield text
        case _:
            for child in ast.iter_child_nodes(node):
                yield from words_of(child)


def unhinted():
    """Give the codes of which a place gives no hint, or one that may be empty."""
    with_code_first = (*errors(), *WITH_CODE_FIRST)
    hinted, result = set(), {}
    for path in files():
        for function, call in calls(tree(path)):
            code = code_of(call, with_code_first)
            if code is not None and is_hinted(call, code, texts_in(function)):
                hinted.add(code)
            elif code is not None:
                result.setdefault(code, place(path, call))
    named = codes()
    rest = named.keys() - hinted - result.keys()  # what names them is no call that is known here
    return result | {code: named[code] for code in rest}


def calls(tree):
    """Give each call with the innermost function around it."""
    waiting = [(tree, None)]
    while waiting:
        node, function = waiting.pop()
        if isinstance(node, ast.Call):
            yield function, node
        inner = node if isinstance(node, ast.FunctionDef) else function
        waiting += [(child, inner) for child in ast.iter_child_nodes(node)]


def texts_in(function):
    """Give the names that a function binds to texts and to nothing else."""
    bound = {}
    for node in ast.walk(function) if function else ():
        for target in node.targets if isinstance(node, ast.Assign) else ():
            for name, value in pairs(target, node.value):
                bound.setdefault(name, []).append(value)
    return {name for name, values in bound.items() if all(is_text(v, ()) for v in values)}


def pairs(target, value):
    match target, value:
        case ast.Name(id=name), _:
            yield name, value
        case ast.Tuple(elts=targets), ast.Tuple(elts=values) if len(targets) == len(values):
            for one, other in zip(targets, values, strict=True):
                yield from pairs(one, other)
        case ast.Tuple(elts=targets), _:
            for one in targets:
                yield from pairs(one, value)


def is_hinted(call, code, texts):
    given = [keyword.value for keyword in call.keywords if keyword.arg == "hint"]
    places = [at for at, arg in enumerate(call.args) if is_code(arg, code)]
    given += [call.args[at + 2] for at in places if len(call.args) > at + 2]
    return any(is_text(each, texts) for each in given)


def is_code(node, code):
    return any(isinstance(each, ast.Constant) and each.value == code for each in ast.walk(node))


def is_text(node, texts):
    match node:
        case ast.Constant(value=str(text)):
            return bool(text)
        case ast.JoinedStr(values=values):
            return any(isinstance(value, ast.Constant) for value in values)
        case ast.BoolOp(op=ast.Or(), values=[*_, last]):
            return is_text(last, texts)
        case ast.IfExp(body=one, orelse=other):
            return is_text(one, texts) and is_text(other, texts)
        case ast.Name(id=name):
            return name in texts or name.isupper() or name.startswith("_")
    return False
