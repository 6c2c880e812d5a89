"""Checks of `before` and `after`, and dbt's tests of columns, in the user's form."""

from __future__ import annotations

import json
import posixpath
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from penstock.core.checks.check import Phase, plain_name
from penstock.core.findings import Finding, Location, Severity
from penstock.project.files.nodes import (
    Broken,
    Keys,
    Member,
    Section,
    TemplateText,
    VersionReference,
    YamlNode,
    excerpt,
    items_of,
    mapping_node,
    open_section,
)
from penstock.project.files.values import did_you_mean, digest
from penstock.project.settings.check_keys import PHASES, WITH_CHECKS, PhasesSection, canonical
from penstock.project.sql.names import called

TESTS: Mapping[str, Keys] = {
    "not_null": Keys(()),
    "unique": Keys(()),
    "accepted_values": Keys(("values", "quote")),
    "relationships": Keys(("to", "field")),
}
"""The known tests, with their arguments."""
_COLUMN = Keys(("name", "tests"), ("name",), {"data_tests": "tests"})
_FAILING = ("mostly", "warn_if", "error_if", "limit", "store_failures")
_KEPT = ("name", "description", "severity", "where", "enabled", "tags", "meta", *_FAILING)
_IDLE = ("store_failures_as", "quote")
_CONFIG = Keys((*_KEPT, *_IDLE))
_BESIDE = ("arguments", "config", *_CONFIG.names)
_OF_MODEL = Keys(("column_name", "column", "columns"))
_WORD = re.compile(r"(?:[A-Za-z_]\w*\.)?[A-Za-z_]\w*")
TEST = "test_"
"""The prefix of a parametrised test's macro."""


@dataclass(frozen=True, slots=True)
class Phases:
    """Checks in the user's form, by phase; `on_failure` is None if not set."""

    before: tuple[YamlNode, ...] = ()
    after: tuple[YamlNode, ...] = ()
    on_failure: YamlNode | None = None

    def of(self, phase: Phase) -> tuple[YamlNode, ...]:
        """Return the checks of one phase."""
        return self.before if phase is Phase.BEFORE else self.after

    def __bool__(self) -> bool:
        """Return whether there are any."""
        return bool(self.before or self.after or self.on_failure)


NONE = Phases()


def read_phases(node: YamlNode, above: str, findings: list[Finding]) -> Phases:
    """Read a mapping of phases, or a list, which means `after`; invalid checks are left out."""
    value = node.value
    if node.is_absent:
        return NONE
    if isinstance(value, VersionReference):
        sentence = f"{value} is under {above}, which is not a key of a version"
        findings.append(Finding(node.where, "reference-wrong-field", sentence))
        return NONE
    if isinstance(value, tuple):
        return Phases(after=_checks(value, above, findings))
    if not isinstance(value, Mapping):
        expected = "a list of checks, or a mapping with before and after"
        sentence = f"{above} is {excerpt(above, value)}; it must be {expected}"
        findings.append(Finding(node.where, "bad-value", sentence))
        return NONE
    return phases_in(open_section(node, PhasesSection.key_set, above, findings))


def phases_in(section: Section) -> Phases:
    """Read the two lists of an opened mapping, and `on_failure`."""
    lists = ((items_of(section, phase, "checks"), f"{section.above}.{phase}") for phase in PHASES)
    before, after = (_checks(items, above, section.findings) for items, above in lists)
    return Phases(before, after, section.find("on_failure"))


def word_in(node: YamlNode) -> str:
    """Return the word under which a mapping has its checks."""
    first, second = WITH_CHECKS
    return second if second in node.members and first not in node.members else first


def name_of(node: YamlNode) -> str:
    """Return the name of a check: its own, or the default from its type and columns."""
    texts = {canonical(key): member.node for key, member in node.members.items()}
    own = _text(texts.get("name"))
    if own:
        return own
    sql = _text(texts.get("sql"))
    kind = _text(texts.get("type")).lower()
    if kind in ("", "sql"):
        is_file = sql.endswith(".sql") and len(sql.split()) == 1
        return plain_name(posixpath.basename(sql).removesuffix(".sql")) if is_file else ""
    columns = texts.get("columns")
    listed = columns.items or (columns,) if columns else ()
    return plain_name("_".join((kind, *(_text(each) for each in listed if _text(each)))))


def find_check(nodes: Iterable[YamlNode], name: str) -> YamlNode | None:
    """Find the check with that name; letter case matters."""
    return next((each for each in nodes if name_of(each) == name), None)


def replacing(lower: Phases, upper: Phases) -> Phases:
    """Override checks: one with the same phase and name replaces the other."""
    return Phases(
        _over(lower.before, upper.before),
        _over(lower.after, upper.after),
        upper.on_failure or lower.on_failure,
    )


def joined(parts: Iterable[Phases], findings: list[Finding]) -> Phases:
    """Concatenate checks; only one place may set `on_failure`."""
    found = NONE
    for part in parts:
        first, second = found.on_failure, part.on_failure
        if first is not None and second is not None:
            sentence = f"on_failure is there twice; the first is at {first.where}"
            findings.append(Finding(second.where, "option-conflict", sentence, "keep one of them"))
        found = Phases(
            (*found.before, *part.before),
            (*found.after, *part.after),
            found.on_failure or part.on_failure,
        )
    return replace(found, after=_distinct(found.after))


def _distinct(nodes: tuple[YamlNode, ...]) -> tuple[YamlNode, ...]:
    """Return the checks with names that differ by the arguments of a test that is there twice."""
    often = {name for name, times in Counter(map(name_of, nodes)).items() if times > 1}
    found = []
    for node in nodes:
        name, sql = node.members.get("name"), node.members.get("sql")
        text = sql.node.value if sql else None
        if name is None or name.node.where != node.where or name_of(node) not in often:
            found.append(node)  # its name is its author's, or it has no twin
        elif isinstance(text, TemplateText) and text.test:
            own = mapping_node(node.where, {"name": f"{name_of(node)}_{digest(text)[:8]}"})
            found.append(node.having({**node.members, **own.members}))
        else:
            found.append(node)
    return tuple(found)


def changed(node: YamlNode, change: YamlNode) -> YamlNode:
    """Change only the given keys of a check."""
    written = {canonical(key) for key in change.members}
    kept = {key: m for key, m in node.members.items() if canonical(key) not in written}
    return node.having({**kept, **change.members}, change.where)


def _over(lower: tuple[YamlNode, ...], upper: tuple[YamlNode, ...]) -> tuple[YamlNode, ...]:
    names = {name_of(each) for each in upper} - {""}
    if not lower:
        return upper
    return (*(each for each in lower if name_of(each) not in names), *upper)


def _checks(
    items: tuple[YamlNode, ...], above: str, findings: list[Finding]
) -> tuple[YamlNode, ...]:
    for item in items:
        if not isinstance(item.value, Mapping | Broken):
            sentence = f"{above} holds something that is not a check"
            hint = "a check is a mapping, such as {type: row_count, min: 1}"
            findings.append(Finding(item.where, "bad-value", sentence, hint))
    return tuple(item for item in items if isinstance(item.value, Mapping))


def _text(node: YamlNode | None) -> str:
    value = None if node is None else node.value
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""


def model_tests(section: Section) -> Phases:
    """Return the tests of a whole table as checks; a test of columns names them."""
    nodes, found = items_of(section, "tests", "tests"), section.findings
    return Phases(after=tuple(check for test in nodes for check in _check(test, None, found)))


def singular_test(name: str, text: str, config: YamlNode, findings: list[Finding]) -> YamlNode:
    """Return a query in its own file as a check; its header is like the `config` of a test."""
    said = _noted(open_section(config, _SINGULAR, "config", findings).members, findings)
    made = mapping_node(config.where, {"name": name, "sql": _template(config.where, text, "")})
    return made.having({**made.members, **said})


def _template(where: Location, text: str, test: str) -> YamlNode:
    return YamlNode(TemplateText.of(text, test), where)


def column_tests(columns: tuple[YamlNode, ...], findings: list[Finding]) -> Phases:
    """Return the tests of a list of columns as checks."""
    found: list[YamlNode] = []
    for item in (each for each in columns if each.value is not None):
        section = open_section(item, _COLUMN, "columns", findings)
        name, tests = section.text("name"), items_of(section, "tests", "tests")
        column = YamlNode(name, section.place("name"))
        if name:
            found += (check for test in tests for check in _check(test, column, findings))
    return Phases(after=tuple(found))


def _check(test: YamlNode, column: YamlNode | None, findings: list[Finding]) -> Iterator[YamlNode]:
    is_word, body = isinstance(test.value, str), dict[str, Member]()
    of = f'a test of column "{column.value}"' if column else "a test of a whole table"
    names = [str(test.value)] if is_word else [key for key in test.members if key not in _BESIDE]
    named = test.members.get("test_name")  # dbt's other form: `- {test_name: unique, name: …}`
    if named is not None:
        names = [str(named.node.value)]
        body = {key: member for key, member in test.members.items() if key != "test_name"}
    if len(names) != 1:
        sentence = f"{of} is one name, with or without arguments"
        findings.append(Finding(test.where, "bad-value", sentence, "- not_null"))
        return
    [word] = names
    if not is_word and named is None:
        beside = {key: member for key, member in test.members.items() if key != word}
        inner = test.members[word].node
        body = {**beside, **inner.members}
        if not isinstance(inner.value, Mapping) and not inner.is_absent:
            sentence = f"{word} is {excerpt(word, inner.value)}; it must be a mapping"
            findings.append(Finding(inner.where, "bad-value", sentence))
    if word in TESTS:
        made = mapping_node(test.where, {"type": word} | ({"column": column} if column else {}))
        members = _check_members(word, test.having(body), column, findings)
        yield made.having({**made.members, **members})
    elif _WORD.fullmatch(word):
        yield _called(word, test.having(body), column, findings)
    else:
        sentence, hint = unknown_test(word, ())
        findings.append(Finding(test.where, "unknown-check-type", sentence, hint))


def unknown_test(word: str, tests: Iterable[str]) -> tuple[str, str]:
    """Report an unknown test, and the known ones."""
    names = (*TESTS, *sorted(tests))
    near = did_you_mean(word, names)
    hint = f"{near} " * bool(near) + f"known here: {', '.join(names)}"
    return f"{word!r} is not a test", hint


def _check_members(
    word: str, body: YamlNode, column: YamlNode | None, findings: list[Finding]
) -> dict[str, Member]:
    """Return the general keys of a test, under the names of checks."""
    mine = TESTS[word] if column else Keys((*TESTS[word].names, *_OF_MODEL.names))
    arguments, config = (body.members.get(key) for key in ("arguments", "config"))
    allowed = Keys((*mine.names, "arguments", "config", *_CONFIG.names))
    top = open_section(body, allowed, "", findings).members
    inner = open_section(arguments.node, mine, "arguments", findings).members if arguments else {}
    below = open_section(config.node, _CONFIG, "config", findings).members if config else {}
    members = _noted({**top, **below, **inner}, findings)
    found = {key: members[key] for key in (*mine.names, *_KEPT) if key in members}
    return {_ARGUMENTS.get(key, key): member for key, member in found.items() if key != "quote"}


_ARGUMENTS = {"column_name": "column"}
_SINGULAR = Keys((*(key for key in _KEPT if key != "where"), *_IDLE))


def _noted(members: Mapping[str, Member], findings: list[Finding]) -> dict[str, Member]:
    for key in (each for each in _IDLE if each in members):
        code, sentence = "option-without-effect", f"{key} has no effect on a check"
        findings.append(Finding(members[key].key, code, sentence, severity=Severity.INFO))
    return {key: member for key, member in members.items() if key not in ("arguments", "config")}


def _called(
    word: str, body: YamlNode, column: YamlNode | None, findings: list[Finding]
) -> YamlNode:
    """Return a test of the project as SQL: the call of its macro with further arguments."""
    arguments, config = (body.members.get(key) for key in ("arguments", "config"))
    below = open_section(config.node, _CONFIG, "config", findings).members if config else {}
    members = _noted({**body.members, **below}, findings)
    given = {key: member.node for key, member in members.items() if key not in _CONFIG.names}
    given |= {key: each.node for key, each in (arguments.node.members if arguments else {}).items()}
    if column is not None:
        given = {"column_name": column, **given}
    where = str(members["where"].node.value) if "where" in members else ""
    rows = f"(select * from {{{{ this }}}} where {where}) as rows_of_test" if where else ""
    start = f"{{% set rows_of_test %}}{rows}{{% endset %}}" if where else ""
    values = [f"{key}={_argument(node)}" for key, node in given.items()]
    call = ", ".join([f"model={'rows_of_test' if where else 'this'}", *values])
    text = f"{start}{{{{ {TEST}{word}({call}) }}}}"
    parts = [word, *(str(given[key].value) for key in ("column_name",) if key in given)]
    made = mapping_node(
        body.where, {"name": plain_name("_".join(parts)), "sql": _template(body.where, text, word)}
    )
    kept = {key: members[key] for key in _KEPT if key in members and key != "where"}
    return made.having({**made.members, **kept})


def test_of(text: TemplateText, called: str) -> TemplateText:
    """Make the call of a parametrised test read another table than the model's own."""
    other = text.replace("from {{ this }} where", f"from {{{{ {called} }}}} where", 1)
    other = other.replace("(model=this", f"(model={called}", 1)
    return TemplateText.of(other, text.test) if text.test else text


def _argument(node: YamlNode) -> str:
    """Return a value in template syntax; the call of a ref or a source is one."""
    if isinstance(node.value, str) and called(node.value)[0]:
        return node.value
    return json.dumps(node.plain)
