"""Sections of documents: a class per kind of mapping, whose keys are declared once.

A declaration has the kind of a key's value, its meaning, an example and its default. Reading,
findings, editor schemas and docs/reference are generated from it.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, ClassVar, Generic, TypeVar, cast, overload

from penstock.core.findings import Finding
from penstock.project.files.kinds import T_co, ValueKind
from penstock.project.files.nodes import Broken, Keys, Section, YamlNode, items_of, take_members
from penstock.project.files.values import Plain, mapping_of, text_of

T = TypeVar("T")
S = TypeVar("S", bound="KeyedSection")
Words = tuple[str, ...]
TEXT_LIST: Plain = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}
OBJECT: Plain = {"type": "object"}


@dataclass(frozen=True, slots=True)
class PartKind(ValueKind[T_co]):
    """A kind of value that has parts, or whose place is needed."""

    take: Callable[[Section, str], T_co] = lambda *_: None  # type: ignore[assignment]
    """Reads the value of a key that is given."""
    inner: type[KeyedSection] | None = None
    """The section inside it, single or as a list."""
    is_list: bool = False
    is_map: bool = False
    """Whether it maps names to sections."""
    refers_to: tuple[type[KeyedSection], ...] = ()
    """The sections that its schema references by their definitions."""


@dataclass(frozen=True, slots=True)
class Key(Generic[T]):
    """A key of a section."""

    kind: ValueKind[T]
    example: Plain
    unset: str | None
    """The default for documentation; None if the key is required."""
    default: T
    aliases: tuple[str, ...] = ()
    """Other words for it."""
    is_needed: bool = False


@overload
def key(
    kind: ValueKind[T | None],
    example: Plain,
    unset: str = "none",
    *,
    default: T,
    aliases: Words = (),
) -> T: ...
@overload
def key(
    kind: ValueKind[T],
    example: Plain,
    unset: str = "none",
    *,
    needed: bool = False,
    aliases: Words = (),
) -> T: ...
def key(
    kind: ValueKind[Any],
    example: Plain,
    unset: str = "none",
    *,
    default: Any = None,
    needed: bool = False,
    aliases: Words = (),
) -> Any:
    """Declare a key; the section's attribute has its value, a string below describes it.

    `unset` describes the default, in Markdown.
    """
    required = needed and unset == "none"
    value = kind.empty if default is None else default
    return Key(kind, example, None if required else unset, value, aliases, needed)


class KeyedSection(Section):
    """A mapping whose keys are attributes; missing or invalid ones have defaults."""

    declared: ClassVar[Mapping[str, Key[Any]]] = {}
    attributes: ClassVar[Mapping[str, str]] = {}
    """The attribute of each key: a name that a section already uses gets a final `_`."""
    key_set: ClassVar[Keys] = Keys(())
    definition: ClassVar[str] = ""
    """The name of its schema for references."""
    instead: ClassVar[Plain] = None
    """An alternative that its definition also allows."""
    is_open: ClassVar[bool] = False
    """Whether it may have other keys too."""
    refuses_null: ClassVar[bool] = False
    """Whether null is invalid, and not the same as absent, unless a kind accepts it."""

    is_mapping = False
    """Whether there was a mapping to read."""

    def __init_subclass__(cls, *, filled: object = None) -> None:
        """Collect the keys of the class and its base classes.

        `filled` is the class that receives its values: keys have the defaults of the fields of
        their name.
        """
        own = {
            name: replace(each, default=getattr(filled, name, each.default))
            for name, each in vars(cls).items()
            if isinstance(each, Key)
        }
        declared = {name.rstrip("_"): each for name, each in own.items()}
        attributes = {name.rstrip("_"): name for name in own}
        for above in cls.__mro__[1:]:
            if issubclass(above, KeyedSection):
                declared = declared | {k: v for k, v in above.declared.items() if k not in declared}
                attributes = {**above.attributes, **attributes}
        cls.declared, cls.attributes = declared, attributes
        for name, each in own.items():
            setattr(cls, name, each.default)
        needed = tuple(name for name, each in cls.declared.items() if each.is_needed)
        aliases = {alias: name for name, each in cls.declared.items() for alias in each.aliases}
        cls.key_set = Keys((*cls.declared,), needed, aliases)


def fill_section(section: KeyedSection, needed: Sequence[str] = ()) -> None:
    """Read the given keys into their attributes; report missing ones."""
    for name in needed:
        if section.find(name) is None:
            section._missing(name)  # noqa: SLF001  its own
    for name, member in section.members.items():
        each = section.declared.get(name)
        is_null = each is not None and each.kind.takes_null and member.value is None
        if each is None or (member.is_absent and not is_null):
            if each is not None and section.refuses_null and member.value is None:
                section.bad(name, each.kind.expected)
            continue
        value = None if is_null else read_key(section, name, each)
        if is_null or value != each.kind.empty:
            setattr(section, section.attributes[name], value)


def read_key(section: KeyedSection, name: str, each: Key[T]) -> T:
    """Return the value of a given key, the empty one of its kind if it is invalid."""
    kind = each.kind
    if isinstance(kind, PartKind):
        return cast("T", kind.take(section, name))
    return section.read(name, kind)


def written_values(section: KeyedSection) -> dict[str, Any]:
    """Return the given and valid values by key."""
    own = vars(section)
    return {name: own[word] for name, word in section.attributes.items() if word in own}


def read_section(
    section: type[S], node: YamlNode, above: str, findings: list[Finding], keys: Keys | None = None
) -> S:
    """Read a mapping; for any other value all defaults apply, with a finding.

    `keys` are the allowed ones here, if not all of its own.
    """
    found = section(node, above, findings)
    found.is_mapping = isinstance(node.value, Mapping)
    if found.is_mapping:
        take_members(found, keys or section.key_set)
    elif not isinstance(node.value, Broken):
        section(node, "", findings, {above: node}).bad(
            above, "a mapping", "write a mapping" if found.is_exact else ""
        )
    fill_section(found)
    return found


def _as_it_is(value: object) -> Any:  # noqa: ANN401  what `take` reads instead
    return value


def _plain_texts(section: Section, name: str) -> tuple[str, ...]:
    return tuple(str(each.value) for each in section.texts(name))


TEXTS: PartKind[tuple[str, ...]] = PartKind(
    "a list of texts", _as_it_is, TEXT_LIST, (), take=_plain_texts
)


def node_as(schema: Plain = None, *parts: type[KeyedSection]) -> PartKind[YamlNode | None]:
    """Return the kind for any value, which its user reads."""
    return PartKind("anything", _as_it_is, schema or {}, None, take=Section.find, refers_to=parts)


def _mapping(section: Section, name: str) -> YamlNode | None:
    node = section.find(name)
    if node is not None and not isinstance(node.value, Mapping):
        section.bad(name, "a mapping", "write a mapping" if section.is_exact else "")
        return None
    return node


MAPPING: PartKind[YamlNode | None] = PartKind("a mapping", _as_it_is, OBJECT, None, take=_mapping)


def section_node(inner: type[KeyedSection], *, is_list: bool = False) -> PartKind[Any]:
    """Return the kind for a section, or a list of sections, that its user opens."""
    kind = nodes("mappings", ()) if is_list else node_as()
    return replace(kind, inner=inner, is_list=is_list)


def nodes(what: str, schema: Plain, *parts: type[KeyedSection]) -> PartKind[tuple[YamlNode, ...]]:
    """Return the kind for lists of anything, which its user reads."""

    def take(section: Section, name: str) -> tuple[YamlNode, ...]:
        return items_of(section, name, what)

    return PartKind(f"a list of {what}", _as_it_is, schema, (), take=take, refers_to=parts)


def subsection(inner: type[S], above: str = "") -> PartKind[S | None]:
    """Return the kind for a nested section."""

    def take(section: Section, name: str) -> S | None:
        node = section.find(name)
        at = above or section.dotted(name)
        return None if node is None else read_inner(inner, node, at, section)

    return PartKind("a mapping", _as_it_is, {}, None, take=take, inner=inner)


def each_of(inner: type[S], what: str, above: str = "") -> PartKind[tuple[S, ...]]:
    """Return the kind for a list of sections; items that are not mappings are left out."""

    def take(section: Section, name: str) -> tuple[S, ...]:
        dotted = above or section.dotted(name)
        items = (read_inner(inner, item, dotted, section) for item in items_of(section, name, what))
        return tuple(each for each in items if each is not None)

    found: PartKind[tuple[S, ...]] = PartKind(f"a list of {what}", _as_it_is, {}, (), take=take)
    return replace(found, inner=inner, is_list=True)


def each_under(inner: type[S]) -> PartKind[Mapping[str, S]]:
    """Return the kind for sections under names of the user."""

    def take(section: Section, name: str) -> Mapping[str, S]:
        node, dotted = _mapping(section, name), section.dotted(name)
        members = node.members if node else {}
        return {
            each: read_section(inner, member, f"{dotted}.{each}", section.findings)
            for each, member in members.items()
        }

    found: PartKind[Mapping[str, S]] = PartKind("a mapping", _as_it_is, {}, {}, take=take)
    return replace(found, inner=inner, is_map=True)


def read_inner(inner: type[S], node: YamlNode, above: str, section: Section) -> S | None:
    """Read a nested section; None with a finding if it is not a mapping."""
    found = read_section(inner, node, above, section.findings)
    return found if isinstance(node.value, Mapping) else None


def described_keys(section: type[KeyedSection]) -> dict[str, dict[str, Plain]]:
    """Return the description of every key and alias: `says`, `unset` and `example`."""
    says = {
        name.rstrip("_"): text
        for each in reversed(section.__mro__)
        if "declared" in vars(each)
        for name, text in _strings_below(each)
    }
    found: dict[str, dict[str, Plain]] = {}
    for name, each in section.declared.items():
        found[name] = {"says": says[name], "example": each.example}
        if each.unset is not None:
            is_default = each.unset == "none" and each.default not in (each.kind.empty, ())
            found[name]["unset"] = f"`{_default_text(each.default)}`" if is_default else each.unset
        for alias in each.aliases:
            text = f"Same as `{name}`."
            found[alias] = {"says": text, "unset": "none", "example": each.example}
    return found


def _default_text(value: object) -> str:
    """Return a default in YAML."""
    if isinstance(value, tuple):
        return f"[{', '.join(map(_default_text, value))}]"
    return text_of(cast("Plain", value))


def _strings_below(section: type) -> Iterator[tuple[str, str]]:
    """Yield the attributes of a class that have a string below, with the string."""
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(section))).body
    for first, second in pairwise(cast("ast.ClassDef", tree).body):
        match first, second:
            case ast.Assign([ast.Name(name)]), ast.Expr(ast.Constant(str() as text)):
                yield name, " ".join(text.split())


def schema_of(section: type[KeyedSection]) -> dict[str, Plain]:
    """Return the schema of a section; sections with a definition are references."""
    known = {
        word: _with_default(_schema_under(each.kind), each)
        for name, each in section.declared.items()
        for word in (name, *each.aliases)
    }
    needed = [n for n, each in section.declared.items() if each.is_needed and not each.aliases]
    found: dict[str, Plain] = {"type": "object", "properties": known}
    if not section.is_open:
        found |= {"additionalProperties": False, "required": needed}
    return {"anyOf": [section.instead, found]} if section.instead else found


def refer(section: type[KeyedSection]) -> dict[str, Plain]:
    """Return a reference to the definition of a section."""
    return {"$ref": f"#/$defs/{section.definition}"}


def definitions_in(section: type[KeyedSection]) -> dict[str, Plain]:
    """Return the schemas of nested sections with definitions, by name."""
    below = (each for _, each in inner_sections(section, ""))
    return {each.definition: schema_of(each) for each in below if each.definition}


def _with_default(schema: Plain, each: Key[Any]) -> Plain:
    is_plain = isinstance(each.default, str | int | tuple) and each.default != each.kind.empty
    return {**mapping_of(schema), "default": each.default} if is_plain else schema


def _schema_under(kind: ValueKind[Any]) -> Plain:
    schema = kind.schema_later() if kind.schema_later else kind.schema
    if not isinstance(kind, PartKind) or kind.inner is None:
        return schema
    one: Plain = refer(kind.inner) if kind.inner.definition else schema_of(kind.inner)
    if schema:
        one = {"anyOf": [schema, one]}
    if kind.is_map:
        return {"type": "object", "additionalProperties": one}
    return {"type": "array", "items": one} if kind.is_list else one


def inner_sections(
    section: type[KeyedSection], name: str
) -> Iterator[tuple[str, type[KeyedSection]]]:
    """Yield a section and nested ones by name: the keys that lead there."""
    yield name, section
    for word, each in section.declared.items():
        kind = each.kind
        below = (kind.inner, *kind.refers_to) if isinstance(kind, PartKind) else ()
        for inner in below:
            if inner is not None and inner is not section:
                yield from inner_sections(inner, inner.definition or f"{name}.{word}")


def words_of(section: type[KeyedSection]) -> Sequence[str]:
    """Return the keys that a section may have."""
    return (*section.key_set.names, *section.key_set.aliases)
