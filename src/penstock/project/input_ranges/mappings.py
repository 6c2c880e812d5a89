"""Determine for every body of every partitioned model which range of each input it reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from penstock.core.findings import Finding
from penstock.core.model import Body, InputMapping, Model, Source
from penstock.core.names import InputName
from penstock.core.partitions.mapping import ByGrain, Everything, RangeMapping, Same
from penstock.core.partitions.partition import Grain
from penstock.project.files.cache import ParseCache
from penstock.project.files.values import digest
from penstock.project.input_ranges.inputs import (
    Declared,
    Found,
    Inferred,
    InputShape,
    as_input,
    first_partition,
    inference_key,
    mismatch,
    narrower,
    over_column,
    read_whole,
    self_reading,
)


@dataclass(frozen=True, slots=True)
class _Mapped:
    inputs: tuple[InputMapping, ...]
    findings: tuple[Finding, ...]


def map_inputs(
    models: Mapping[str, Model],
    sources: Mapping[str, Source],
    declared: Mapping[str, tuple[Declared, ...]],
    cache: ParseCache,
) -> tuple[dict[str, Model], list[Finding]]:
    """Fill in `Body.inputs` of every partitioned model; others stay unchanged.

    Inputs are those of its query, of `declared`, and of views among them; a model that reads itself
    is its own input, under its name.
    """
    shapes: dict[InputName, InputShape] = {m.input_name: shape_of(m) for m in models.values()}
    shapes |= {source.input_name: InputShape() for source in sources.values()}
    views = {
        m.input_name: tuple(as_input(n) for n in m.inputs) for m in models.values() if m.is_view
    }
    result = dict(models)
    findings: list[Finding] = []
    for name, model in models.items():
        if model.partition is not None:
            reader = _Bodies(model, shapes, views, declared.get(name, ()), cache, findings)
            mapped = ((each, map(reader.mapped, each.bodies)) for each in model.versions)
            versions = tuple(
                replace(version, body=own, revisions=tuple(revisions))
                for version, (own, *revisions) in mapped
            )
            result[name] = replace(model, versions=versions)
    return result, findings


def shape_of(model: Model) -> InputShape:
    """Return the shape of a model as an input of others.

    Columns are known if every version declares them: the table has those of all versions.
    """
    if model.is_view:
        bodies = [body for version in model.versions for body in version.bodies]
        queries = [body.query for body in bodies] or [model.query]
        texts = (text for query in queries for text in (query.text, query.incremental))
        return InputShape(view=tuple(dict.fromkeys(texts)))
    schemas = [version.schema.names for version in model.versions]
    names = tuple(dict.fromkeys(name for names in schemas for name in names))
    columns = names if schemas and all(schemas) else None
    part = model.partition
    shape = InputShape(part.field, part.type, grid=part.grid) if part else InputShape()
    return replace(shape, columns=columns)


@dataclass(slots=True)
class _Bodies:
    """Maps the bodies of one model."""

    model: Model
    shapes: Mapping[InputName, InputShape]
    views: Mapping[InputName, tuple[InputName, ...]]
    declared: tuple[Declared, ...]
    cache: ParseCache
    findings: list[Finding]

    def mapped(self, body: Body) -> Body:
        """Return a body with its inputs, from the cache if nothing relevant has changed."""
        shapes: dict[InputName, InputShape] = {}
        todo = [as_input(name) for name in body.query.inputs]
        todo += (as_input(each.input) for each in self.declared)
        for name in todo:  # which grows by what views among them read
            if name not in shapes:
                shapes[name] = self.shapes.get(name, InputShape())
                todo += self.views.get(name, ())
        texts = tuple(dict.fromkeys((body.query.text, body.query.incremental)))
        first = first_partition(self.model)
        known = (inference_key(texts, self.model.grid, shapes), self.declared, body.where, first)
        label = body.fingerprint.label
        key = digest(repr((known, self.model.input_name, label, body.query.inputs)))
        file = f"mapping\n{self.model.name}\n{label}"
        kept = self.cache.recall(file, key, _Mapped)
        if kept is None:
            kept = self._map(body, texts, shapes)
            self.cache.keep(file, key, _Mapped, kept)
        self.findings += kept.findings
        return replace(body, inputs=kept.inputs)

    def _map(
        self, body: Body, texts: tuple[str, ...], shapes: Mapping[InputName, InputShape]
    ) -> _Mapped:
        declared = self._declared(body)
        asked = {
            name: replace(shape, field=declared[name].column)
            if name in declared and declared[name].column and not shape.field and not shape.view
            else shape
            for name, shape in shapes.items()
        }
        from penstock.project.input_ranges.infer import infer  # the parser, which a warm load saves

        inferred = infer(texts, self.model.grid, asked)
        inputs: list[InputMapping] = []
        findings: list[Finding] = []
        for name, shape in shapes.items():
            entry, read = declared.get(name), inferred.get(name)
            is_chosen = bool(entry and entry.mapping and not shape.view)
            if entry and is_chosen:
                mapping, found = self._chosen(name, shape, entry, read)
            else:
                mapping, found = self._automatic(name, asked[name], read, body)
            findings += found
            if name == self.model.input_name:
                where = entry.where if entry else body.where
                findings += self_reading(self.model, body, mapping, where)
            inputs.append(InputMapping(name, mapping, declared=is_chosen))
        return _Mapped(tuple(inputs), tuple(findings))

    def _declared(self, body: Body) -> dict[InputName, Declared]:
        """Return the entries by input; an entry for a view applies to its tables without one."""
        result = {as_input(each.input): each for each in self.declared}
        direct = {as_input(name) for name in body.query.inputs}
        todo = [(name, each) for name, each in result.items() if each.mapping is not None]
        for view, entry in todo:
            for name in self.views.get(view, ()):
                if name not in result and name not in direct:
                    result[name] = entry
                    todo.append((name, entry))
        return result

    def _automatic(
        self, name: InputName, shape: InputShape, read: Inferred | None, body: Body
    ) -> tuple[RangeMapping, list[Finding]]:
        """Use the ranges from the SQL; for inputs only in `depends_on`, the overlap."""
        grains, found = {self.model.grid.grain, shape.grid.grain}, Found.INFERRED
        mapping: RangeMapping = ByGrain()
        if read is not None:
            mapping, found = read
        elif shape.grid.grain is Grain.WHOLE:
            mapping = over_column(Same(), shape.field, self.model.grid)
        elif Grain.RANGE in grains and len(grains) > 1:
            mapping, found = Everything(), Found.WHOLE
        if found in (Found.INFERRED, Found.VIEW) or name == self.model.input_name:
            return mapping, []
        return mapping, [read_whole(name, body, unclear=found is Found.UNCLEAR)]

    def _chosen(
        self, name: InputName, shape: InputShape, entry: Declared, read: Inferred | None
    ) -> tuple[RangeMapping, list[Finding]]:
        mapping, model, grid = entry.mapping or Everything(), self.model, shape.grid
        found = mismatch(name, entry, mapping, model, grid)
        if found:
            return Everything(), found
        if grid.grain is Grain.WHOLE:
            mapping = over_column(mapping, entry.column, model.grid)
        if read is None or read.outcome not in (Found.INFERRED, Found.WHOLE):
            return mapping, []
        is_comparable = entry.column or grid.grain is not Grain.WHOLE
        found = narrower(name, entry, mapping, read.mapping, model, grid) if is_comparable else []
        return mapping, found
