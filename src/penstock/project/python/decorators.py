"""The four decorators, and `over`, with which one function is many models.

Each use of `over` declares a model per value, and per combination of values. The values of a model
are those of its function's parameters, like values that runs set: they count as its code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Generic, ParamSpec, TypeVar, overload

from penstock.project.python.declare import (
    DISCOVERY,
    SHAPES,
    FunctionKind,
    PythonModel,
    Registry,
    RunnerOf,
)
from penstock.project.python.parameters import variants_of

if TYPE_CHECKING:
    from typing import Unpack

    from penstock.project.python.declare import (
        IncrementalOptions,
        ModelOptions,
        SourceOptions,
        TableOptions,
    )

P = ParamSpec("P")
R = TypeVar("R")


class ModelFamily(Sequence[PythonModel[..., R]], Generic[P, R]):
    """The models of one function; called, it runs the function as it is written.

    >>> from penstock import table
    >>> @table.over(country=["nl", "be"])
    ... def orders(country, events):
    ...     return [each for each in events if each == country]
    >>> [each.name for each in orders], orders("nl", ["nl", "be", "nl"])
    (['orders_nl', 'orders_be'], ['nl', 'nl'])
    """

    def __init__(self, function: Callable[P, R], models: Sequence[PythonModel[..., R]]) -> None:
        """Store the function and its models."""
        self.function = function
        self._models = tuple(models)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the original function."""
        return self.function(*args, **kwargs)

    def __len__(self) -> int:
        """Return the number of models."""
        return len(self._models)

    def __iter__(self) -> Iterator[PythonModel[..., R]]:
        """Return the models in the order of the values."""
        return iter(self._models)

    @overload
    def __getitem__(self, place: int | str) -> PythonModel[..., R]: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[PythonModel[..., R], ...]: ...
    def __getitem__(
        self, place: int | str | slice
    ) -> PythonModel[..., R] | tuple[PythonModel[..., R], ...]:
        """Return a model by its name, or by its place."""
        if not isinstance(place, str):
            return self._models[place]
        found = {each.name: each for each in self._models}
        if place not in found:
            raise KeyError(f"{place!r} is none of {', '.join(found)}")
        return found[place]

    def __repr__(self) -> str:
        """Return the names."""
        return f"<{', '.join(each.name for each in self._models)}>"


class Declaration:
    """A decorator with its options."""

    def __init__(
        self, decorators: Decorators, kind: FunctionKind, options: Mapping[str, object]
    ) -> None:
        """Store them; raise `TypeError` for an unknown keyword, as Python does."""
        known = SHAPES[kind].__annotations__
        for key in options:
            if key not in known:
                raise TypeError(f"{kind}() got an unexpected keyword argument {key!r}")
        self._decorators, self._kind, self._options = decorators, kind, options

    def __call__(self, function: Callable[P, R], /) -> PythonModel[P, R]:
        """Declare the function as one model."""
        return self._declared(PythonModel(function, self._kind, self._options))

    def over(
        self, **values: Sequence[object] | Mapping[str, object]
    ) -> Callable[[Callable[P, R]], ModelFamily[P, R]]:
        """Declare a model per value of a parameter: `@table.over(country=["nl", "be"])`.

        With several parameters there is one per combination, named in their order. A mapping names
        values that make no identifier: `{"nl": "The Netherlands"}`.
        """

        def decorate(function: Callable[P, R]) -> ModelFamily[P, R]:
            found = [
                self._declared(PythonModel(function, self._kind, self._options, each))
                for each in variants_of(values)
            ]
            return ModelFamily(function, found)

        return decorate

    def _declared(self, model: PythonModel[P, R]) -> PythonModel[P, R]:
        """Add a model to the registries."""
        model.runner = self._decorators.runner
        for registry in (self._decorators.registry, DISCOVERY.get()):
            if registry is not None:
                registry.models.append(model)
        return model


class _Decorator:
    """A decorator that needs no options."""

    kind: FunctionKind

    def __init__(self, decorators: Decorators) -> None:
        """Store whose registry it fills."""
        self._decorators = decorators

    def _declare(
        self, function: Callable[P, R] | None, options: Mapping[str, object]
    ) -> PythonModel[P, R] | Declaration:
        """Decorate at once if the decorator is used without parentheses."""
        found = Declaration(self._decorators, self.kind, options)
        return found if function is None else found(function)


class SourceDecorator(_Decorator):
    """Declares a frame from outside: a table, a path, or the result of the function."""

    kind = FunctionKind.SOURCE

    @overload
    def __call__(self, function: Callable[P, R], /) -> PythonModel[P, R]: ...
    @overload
    def __call__(self, **options: Unpack[SourceOptions]) -> Declaration: ...
    def __call__(  # type: ignore[misc]  # mypy does not see through Unpack
        self, function: Callable[P, R] | None = None, /, **options: Unpack[SourceOptions]
    ) -> PythonModel[P, R] | Declaration:
        """Declare a source."""
        return self._declare(function, options)


class _ManyDecorator(_Decorator):
    """A decorator of one model, or of a model per value of a parameter."""

    def over(
        self, **values: Sequence[object] | Mapping[str, object]
    ) -> Callable[[Callable[P, R]], ModelFamily[P, R]]:
        """Declare a model per value, see `Declaration.over`."""
        return Declaration(self._decorators, self.kind, {}).over(**values)


class ModelDecorator(_ManyDecorator):
    """Declares a frame between other models; it is not stored."""

    kind = FunctionKind.MODEL

    @overload
    def __call__(self, function: Callable[P, R], /) -> PythonModel[P, R]: ...
    @overload
    def __call__(self, **options: Unpack[ModelOptions]) -> Declaration: ...
    def __call__(  # type: ignore[misc]  # mypy does not see through Unpack
        self, function: Callable[P, R] | None = None, /, **options: Unpack[ModelOptions]
    ) -> PythonModel[P, R] | Declaration:
        """Declare a model."""
        return self._declare(function, options)


class TableDecorator(_ManyDecorator):
    """Declares a Delta table that each step replaces completely."""

    kind = FunctionKind.TABLE

    @overload
    def __call__(self, function: Callable[P, R], /) -> PythonModel[P, R]: ...
    @overload
    def __call__(self, **options: Unpack[TableOptions]) -> Declaration: ...
    def __call__(  # type: ignore[misc]  # mypy does not see through Unpack
        self, function: Callable[P, R] | None = None, /, **options: Unpack[TableOptions]
    ) -> PythonModel[P, R] | Declaration:
        """Declare a table."""
        return self._declare(function, options)


class Decorators:
    """The four decorators; they add functions to `registry`, and to a running discovery."""

    def __init__(self, registry: Registry | None = None, runner: RunnerOf | None = None) -> None:
        """Store the registry and runner of an app; the package's decorators have no registry."""
        self.registry = registry
        self.runner = runner
        self.source = SourceDecorator(self)
        self.model = ModelDecorator(self)
        self.table = TableDecorator(self)

    def incremental_table(self, **options: Unpack[IncrementalOptions]) -> Declaration:
        """Declare a Delta table that windows of its inputs keep up to date."""
        if "time_column" not in options:
            raise TypeError("incremental_table() misses the keyword 'time_column'")
        return Declaration(self, FunctionKind.INCREMENTAL, options)


PACKAGE = Decorators()
"""The decorators of `from penstock import ...`: for the project that is being loaded."""
