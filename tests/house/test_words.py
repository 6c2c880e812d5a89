"""Names say what a thing is for a user, never that it manages, helps or handles."""

import ast
import io
import re
import tokenize

from house.source import ROOT, SRC, files, found, place

GLOSSARY = re.compile(r"## Words\n(.*?)\n## ", re.DOTALL)
REPLACED = {
    "shop",
    "looked",
    "sight",
    "judged",
    "ground",
    "subject",
    "book",
    "sheet",
    "hole",
    "picture",
    "told",
    "surroundings",
    "mark",
    "marks",
}
OF_A_LIBRARY = {"get_mark", "start_mark", "end_mark", "problem_mark"}  # names of PyYAML
VAGUE = frozenset(
    re.findall(
        r"\w+",
        "said found given known made kept told seen done look messages asked linked opened placed "
        "within gone held counted named shown beside inside between",
    )
)
VAGUE_DEFINITIONS = 16  # only goes down
EMPTY = {"manager", "helper", "helpers", "util", "utils", "base", "common", "handle", "handler"}


def test_no_module_has_an_empty_name():
    modules = [path.relative_to(SRC) for path in files()]

    assert [m for m in modules for part in m.with_suffix("").parts if words(part) & EMPTY] == []


def test_no_class_or_function_has_an_empty_name():
    named = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)

    assert [
        f"{place(path, node)}: {node.name}"
        for path in files()
        for node in found(path, *named)
        if words(node.name) & (EMPTY - {"base"})
    ] == []


def test_the_glossary_names_what_the_code_defines():
    text = (ROOT / "docs" / "ARCHITECTURE.md").read_text(encoding="utf-8")
    rows = [row.split("|") for row in GLOSSARY.search(text).group(1).splitlines() if "| `" in row]
    names = {name for row in rows for name in re.findall(r"`(\w+)`", row[3])}

    assert len(rows) > 30
    assert names - defined() == set()


def test_no_word_that_the_glossary_replaced_is_in_the_code():
    assert [
        f"{place(path)}:{token.start[0]}: {token.string}"
        for path in files()
        for token in tokenize.generate_tokens(io.StringIO(path.read_text("utf-8")).readline)
        if token.type == tokenize.NAME and words(token.string) & REPLACED
        if token.string not in OF_A_LIBRARY
    ] == []


def test_few_functions_fields_and_parameters_have_a_vague_name():
    """A name says what a thing is: `partitions`, `missing_columns`, not that somebody found it."""
    vague = [name for path in files() for name in definitions(path) if name.strip("_") in VAGUE]

    assert len(vague) <= VAGUE_DEFINITIONS


def definitions(path):
    for node in found(path, ast.FunctionDef, ast.ClassDef):
        if isinstance(node, ast.FunctionDef):
            yield node.name
            yield from (each.arg for each in ast.walk(node.args) if isinstance(each, ast.arg))
        else:
            yield from (n for each in node.body for n in names_of(each) if annotated(each))


def annotated(node):
    return isinstance(node, ast.AnnAssign)


def defined():
    named = (ast.ClassDef, ast.FunctionDef, ast.Assign, ast.AnnAssign)
    return {name for path in files() for node in found(path, *named) for name in names_of(node)}


def names_of(node):
    match node:
        case ast.ClassDef(name=name) | ast.FunctionDef(name=name):
            return [name]
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return [name]
    return []


def words(name):
    return set(re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower().split("_"))
