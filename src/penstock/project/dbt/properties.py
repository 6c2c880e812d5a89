"""The YAML files of a dbt project: keys that penstock does not know go, others change in place."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import yaml  # noqa: TC002  methods ask for its kinds

from penstock.project.dbt.decide import Decision, outcomes
from penstock.project.dbt.editing.yaml_edits import (
    YamlEdits,
    child,
    compose,
    ends_at,
    items,
    line_of,
    pairs,
    plain,
    scalar,
)
from penstock.project.dbt.entries import BY_HAND, QUOTES, SEMANTIC, SITE, TAKE, TESTED, EntryEdits
from penstock.project.files.values import mapping_of, switch_of, text_of

_MODEL = {"name": TAKE, "tags": TAKE, "meta": TAKE, "access": TAKE, "group": TAKE, **TESTED}
_MODEL |= {"latest_version": TAKE, "constraints": TAKE, "versions": TAKE, "docs": SITE}
_MODEL |= {"deprecation_date": "models have no date of an end"}
_SNAPSHOT = {**_MODEL, "relation": TAKE}
_SEED = {"name": TAKE, "docs": SITE, **TESTED}
_TABLE = {"name": TAKE, "identifier": TAKE, "loaded_at_field": TAKE, "tags": TAKE, "meta": TAKE}
_TABLE |= {"freshness": TAKE, **TESTED, "quoting": QUOTES, "docs": SITE}
_TABLE |= {"loader": "it is a note for people; write it in the description"}
_SOURCE = {"name": TAKE, "schema": TAKE, "description": TAKE, "freshness": TAKE}
_SOURCE |= {"loaded_at_field": TAKE, "tags": TAKE, "meta": TAKE, "quoting": QUOTES}
_SOURCE |= {"loader": "it is a note for people; write it in the description"}
_TOP = {
    **dict.fromkeys(("metrics", "semantic_models", "saved_queries", "functions"), SEMANTIC),
}
_PROSE = dict.fromkeys(
    ("macros", "analyses", "data_tests", "tests"), "it is a description that penstock does not show"
)


_CATALOGS = ("database", "catalog")


class PropertyFile(EntryEdits):
    """Edits one YAML file; `result` returns its text."""

    def result(self) -> str:
        """Return the new text, "" if nothing is left."""
        readers: Mapping[str, Callable[[str, yaml.Node], None]] = {
            "models": lambda at, node: self._entry("models", at, node, _MODEL),
            "snapshots": self._snapshot,
            "seeds": lambda at, node: self._entry("seeds", at, node, _SEED),
            "sources": self._source,
            "unit_tests": self._unit_test,
            "exposures": self._whole,
            "groups": self._whole,
        }
        for name, key, value in pairs(self.file.root):
            if name == "version":
                self.log.take(name, line_of(key))
            elif name in readers:
                for index, node in enumerate(items(value)):
                    named = text_of(plain(child(node, "name"))) or str(index)
                    readers[name](f"{name}[{named}]", node)
            elif name in _TOP:
                self.log.hand(name, _TOP[name], line_of(key))
                self.edits.delete(key)
            elif name in _PROSE:
                self.log.drop(name, _PROSE[name], line_of(key))
                self.edits.delete(key)
            elif not name.startswith("."):
                self.log.hand(name, "penstock does not know this key", line_of(key))
                self.edits.delete(key)
        text = self.edits.result()
        left = [name for name, _, _ in pairs(self.file.root) if name in readers]
        if not text.strip() or not left:
            return ""
        text = self._with_snapshots(text)
        return f"# From {self.file.path} of the dbt project {self.context.project}.\n{text}"

    def _with_snapshots(self, text: str) -> str:
        """Move descriptions of snapshots with a file of their own under `models:`."""
        root, _ = compose(self.file.path, text)
        held = child(root, "snapshots")
        named = [(text_of(plain(child(each, "name"))), each) for each in items(held)]
        moved = [each for name, each in named if name in self.context.alone]
        if not moved or held is None:
            return text
        for name, each in named:
            if name in self.context.alone:
                why = "models: describes what has a file of its own"
                self.log.change(f"snapshots[{name}]", why, line_of(each))
        if len(moved) == len(named) and child(root, "models") is None:
            key = next(key for name, key, _ in pairs(root) if name == "snapshots")
            edits = YamlEdits(text, root)
            edits.rename(key, "models")
            return edits.result()
        edits = YamlEdits(text, root)
        said = ""
        for each in moved:
            edits.delete(each)
            start = text.rfind("\n", 0, int(each.start_mark.index)) + 1
            said += text[start : ends_at(each, text)] + "\n"
        models = child(root, "models")
        if models is None:
            return edits.result().rstrip("\n") + f"\nmodels:\n{said}"
        last = items(models)[-1]
        cut = int(moved[0].start_mark.column) - int(last.start_mark.column)
        said = "".join(_moved(line, -cut) for line in said.splitlines(keepends=True))
        edits.insert(ends_at(last, text), "\n" + said.rstrip("\n"))
        return edits.result()

    def _whole(self, at: str, node: yaml.Node) -> None:
        """Take an entry as it is."""
        for name, key, value in pairs(node):
            self.log.take(f"{at}.{name}", line_of(key))
            self.description(name, value, f"{at}.{name}")

    def _entry(self, tree: str, at: str, node: yaml.Node, fates: Mapping[str, str]) -> None:
        """Edit an entry of a model, snapshot or seed."""
        name = text_of(plain(child(node, "name")))
        decision = self.context.decisions.get((tree, name), Decision())
        self.is_enforced = tree != "models" or name in self.context.contracted
        self.is_batched = decision.window is not None and not self.is_enforced
        for key_name, key, value in pairs(node):
            if key_name == "config":
                self._config(f"{at}.config", value, decision, is_seed=tree == "seeds")
            elif key_name == "columns":
                for column in items(value):
                    self.column(f"{at}.columns", column)
            elif tree == "seeds" and key_name in ("tags", "meta"):
                why = "seeds have tags under config and no meta"
                self.log.hand(f"{at}.{key_name}", why, line_of(key))
                self.edits.delete(key)
            else:
                self.plain_key(at, (key_name, key, value), fates)
        self._missing_config(node, name, decision, is_seed=tree == "seeds")

    def _missing_config(
        self, node: yaml.Node, name: str, decision: Decision, *, is_seed: bool
    ) -> None:
        """Add what a seed, or a snapshot without a file, must say under config."""
        has_file = name in self.context.headers
        if has_file or not decision.values or child(node, "config") is not None:
            return
        if is_seed or child(node, "relation") is not None:
            self.edits.add(node, "config", scalar(decision.values))
            for key in decision.values:
                self.log.change(f"{name}.config.{key}", decision.why.get(key, ""), line_of(node))

    def _config(
        self, at: str, node: yaml.Node, decision: Decision, *, is_seed: bool = False
    ) -> None:
        """Edit the settings of an entry."""
        lines = {name: line_of(key) for name, key, _ in pairs(node)}
        given = mapping_of(plain(node))
        found = outcomes(given, decision, self.log, lines, at)
        name = at.partition("[")[2].partition("]")[0]
        for key_name, key, value in pairs(node):
            outcome = found[key_name]
            if outcome is None or (is_seed and outcome.name not in _SEED_CONFIG):
                if is_seed and outcome is not None:
                    why = "seeds have no such setting"
                    self.log.hand(f"{at}.{key_name}", why, lines[key_name])
                self.edits.delete(key)
                continue
            if outcome.name != key_name:
                self.edits.rename(key, outcome.name)
            if outcome.is_changed and outcome.value != given[key_name]:
                self.edits.replace(value, scalar(outcome.value))
        written = {each.name for each in found.values() if each}
        if name not in self.context.headers:
            for key_name, wanted in decision.values.items():
                if key_name not in written:
                    self.edits.add(node, key_name, scalar(wanted))
                    self.log.change(f"{at}.{key_name}", decision.why.get(key_name, ""))

    def _snapshot(self, at: str, node: yaml.Node) -> None:
        """Edit a snapshot: one whose query is in a file is described under `models:`."""
        self._entry("snapshots", at, node, _SNAPSHOT)

    def _source(self, at: str, node: yaml.Node) -> None:
        """Edit a source and its tables."""
        for name, key, value in pairs(node):
            if name == "tables":
                for table in items(value):
                    named = f"{at}.tables[{text_of(plain(child(table, 'name')))}]"
                    self._source_keys(named, table, _TABLE)
            else:
                self._source_key(at, (name, key, value), _SOURCE, node)

    def _source_keys(self, at: str, node: yaml.Node, fates: Mapping[str, str]) -> None:
        """Edit the keys of a table of a source."""
        for name, key, value in pairs(node):
            if name == "columns":
                for column in items(value):
                    self.column(f"{at}.columns", column)
            else:
                self._source_key(at, (name, key, value), fates, node)

    def _source_key(
        self,
        at: str,
        pair: tuple[str, yaml.Node, yaml.Node],
        fates: Mapping[str, str],
        node: yaml.Node,
    ) -> None:
        """Edit one key: `config` has its keys beside it, templates have their values."""
        name, key, value = pair
        what = f"{at}.{name}"
        if name == "config":
            self._source_config(what, (key, value), fates, node)
            return
        if name in ("schema", "identifier"):
            self.rendered(what, value)
        if name in _CATALOGS and not text_of(self.context.naming.rendered(plain(value))).strip():
            self.log.drop(what, "it is empty for this target", line_of(key))
            self.edits.delete(key)
            return
        if name == "freshness":
            self._freshness(what, value)
        self.plain_key(at, pair, fates)

    def _source_config(
        self,
        at: str,
        pair: tuple[yaml.Node, yaml.Node],
        fates: Mapping[str, str],
        node: yaml.Node,
    ) -> None:
        """Lift the settings of a source, and leave out a source that is disabled."""
        key, value = pair
        lost = []
        beside = {name for name, _, _ in pairs(node)}
        for name, inner, each in pairs(value):
            what, line = f"{at}.{name}", line_of(inner)
            if name == "enabled" and switch_of(plain(each)) is False:
                self.log.change(what, "a source that is disabled is left out", line)
                self.edits.delete(node)
            elif name == "event_time":
                self.log.change(what, "it is in the queries of microbatch models", line)
            elif name in fates and not fates[name] and name not in beside:
                self.log.change(what, "sources have no config: it is beside the name", line)
                if name == "freshness":
                    self._freshness(what, each)
                continue
            elif name == "enabled":
                self.log.drop(what, "sources are always enabled", line)
            else:
                self.log.hand(what, BY_HAND.get(name, "sources have no such setting"), line)
            lost.append(name)
        self.edits.lift(key, value, lost)

    def _freshness(self, at: str, node: yaml.Node) -> None:
        """Drop the filter of a freshness."""
        for name, key, _ in pairs(node):
            if name == "filter":
                self.log.hand(f"{at}.filter", BY_HAND["filter"], line_of(key))
                self.edits.delete(key)

    def _unit_test(self, at: str, node: yaml.Node) -> None:
        """Take a unit test; variables of the environment have no overrides here."""
        for name, key, value in pairs(node):
            self.log.take(f"{at}.{name}", line_of(key))
            overrides = pairs(value) if name == "overrides" else ()
            for inner, inner_key, _ in overrides:
                if inner == "env_vars":
                    why = "set them in the environment of penstock test"
                    self.log.hand(f"{at}.overrides.env_vars", why, line_of(inner_key))
                    self.edits.delete(inner_key)


def _moved(line: str, by: int) -> str:
    """Return a line with more or less blanks at its beginning."""
    return " " * by + line if by >= 0 else line[-by:] if line[:-by].isspace() else line


_SEED_CONFIG: frozenset[str] = frozenset({"column_types", "schema", "alias", "tags"})
