"""Limits for rendering one template: steps, and characters printed or joined.

A template is a program, and a program may loop forever. Each iteration of a loop, each call of a
macro and each included file is a step; operations with large results are measured before they run.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sized
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, StrictUndefined, Undefined, nodes, pass_context
from jinja2.nodes import EvalContext
from jinja2.runtime import Context, Macro
from jinja2.sandbox import SandboxedEnvironment

if TYPE_CHECKING:
    from jinja2.loaders import BaseLoader

MOST_STEPS = 100_000
MOST_CHARACTERS = 1_000_000
_MOST_BITS = 10_000
_LARGE = len(str(MOST_CHARACTERS))
_WIDTH = re.compile(rf"\d{{{_LARGE},}}")
_BODIES = (nodes.For, nodes.Macro, nodes.CallBlock)
_Body = nodes.Template | nodes.For | nodes.Macro | nodes.CallBlock
_TEXT_FILTERS = (
    *("capitalize", "e", "escape", "forceescape", "lower", "pprint", "safe", "string", "striptags"),
    *("title", "tojson", "trim", "truncate", "upper", "urlencode", "wordcount", "xmlattr"),
)
"""Filters that make one text of any value."""
_OF_JINJA = (Context, EvalContext, Environment)
"""What Jinja passes to some filters before their arguments."""
_SIZED_FILTERS = ("batch", "center", "format", "indent", "join", "replace", "slice", "wordwrap")


class BudgetError(Exception):
    """Rendering exceeds a limit; the message names it."""


class MacroReturn(Exception):  # noqa: N818  it is no error: `return` ends a macro
    """Carries the value of `return(…)` to the call of the macro."""

    def __init__(self, value: object) -> None:
        super().__init__("return stands outside of a macro")
        self.value = value


class OpenMacro:
    """A macro, which templates may call even if its name begins with an underscore."""

    __slots__ = ()


class AbsentItem(Undefined):
    """What a mapping does not hold: it can be asked for, as in dbt, but not printed."""

    __slots__ = ()

    def __str__(self) -> str:
        """Raise: a query with a gap is not what its author means."""
        return self._fail_with_undefined_error()


class BudgetedEnvironment(SandboxedEnvironment):
    """Jinja's sandbox, in which every template ends."""

    intercepted_binops = frozenset({"+", "*", "**", "%"})

    def __init__(self, loader: BaseLoader) -> None:
        super().__init__(
            loader=loader,
            undefined=StrictUndefined,
            keep_trailing_newline=True,
            finalize=_printed,
        )
        for each in ("jinja2.ext.do", "jinja2.ext.loopcontrols"):
            self.add_extension(each)
        del self.globals["lipsum"]  # words by chance: no two renderings would be equal
        self.left = [MOST_STEPS, MOST_CHARACTERS]
        self.filters |= {"penstock_step": _step, "penstock_concat": _concat}
        sized = (*_SIZED_FILTERS, *_TEXT_FILTERS)
        self.filters |= {name: _measured(self.filters[name]) for name in sized}

    def begin(self) -> None:
        """Start the budget of the next template."""
        self.left[:] = MOST_STEPS, MOST_CHARACTERS

    def spend(self, steps: int, characters: int) -> None:
        """Use up a part of the budget; raise `BudgetError` if it is exceeded."""
        self.left[0] -= steps
        self.left[1] -= characters
        if self.left[0] < 0:
            raise BudgetError(f"rendering takes more than {MOST_STEPS:,} turns of loops and calls")
        if self.left[1] < 0:
            raise BudgetError(f"rendering gives more than {MOST_CHARACTERS:,} characters")

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:  # noqa: ANN401  values of a template
        """Raise for an operation with too large a result, before it runs."""
        refuse_large(_size_of(operator, left, right))
        if operator == "%":
            refuse_nested(right)
        return super().call_binop(context, operator, left, right)

    def call(
        __self,  # noqa: N805
        __context: Context,
        __obj: Any,  # noqa: ANN401
        /,
        *args: Any,  # noqa: ANN401
        **kwargs: Any,  # noqa: ANN401
    ) -> Any:  # noqa: ANN401
        """Call an object; for a text's method, check the size of the result first."""
        owner = getattr(__obj, "__self__", None)
        if isinstance(owner, str | bytes):
            refuse_nested([*args, *kwargs.values()])
            refuse_large(_size_of_call(getattr(__obj, "__name__", ""), (owner, *args)))
            refuse_large(max((abs(a) for a in args if isinstance(a, int)), default=0))
        if not isinstance(__obj, Macro):
            return super().call(__context, __obj, *args, **kwargs)
        try:
            return super().call(__context, __obj, *args, **kwargs)
        except MacroReturn as returned:
            return returned.value

    def getattr(self, obj: Any, attribute: str) -> Any:  # noqa: ANN401
        """Return a part of a value; what a mapping lacks is false, and no error yet."""
        return _absent(obj, super().getattr(obj, attribute), attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:  # noqa: ANN401
        """Return an item of a value; what a mapping lacks is false, and no error yet."""
        return _absent(obj, super().getitem(obj, argument), str(argument))

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:  # noqa: ANN401
        """Return whether templates may use a part of an object."""
        is_macro = isinstance(value, OpenMacro) and not attr.startswith("__")
        return is_macro or super().is_safe_attribute(obj, attr, value)

    def wrap_str_format(self, value: Any) -> Callable[..., str] | None:  # noqa: ANN401
        """Return the sandbox's `format`, unless the text contains too wide columns."""
        owner = getattr(value, "__self__", None)
        if isinstance(owner, str):
            refuse_large(_size_of_call("format", [owner]))
        wrapped = super().wrap_str_format(value)
        if wrapped is None:
            return None

        def formatted(*args: Any, **kwargs: Any) -> str:  # noqa: ANN401  values of a template
            refuse_nested([*args, *kwargs.values()])
            return wrapped(*args, **kwargs)

        return formatted

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        tree = _with_budget(super()._parse(source, name, filename))
        tree.set_environment(self)
        return tree


def _absent(obj: Any, value: Any, name: str) -> Any:  # noqa: ANN401  values of a template
    is_absent = isinstance(value, StrictUndefined) and isinstance(obj, dict)
    is_absent = is_absent and not name.startswith("_")
    return AbsentItem(obj=obj, name=name) if is_absent else value


def _with_budget(tree: nodes.Template) -> nodes.Template:
    """Make every repeatable body use a step first, and measure the operands of `~`."""
    found = [*tree.find_all((*_BODIES, nodes.Concat, nodes.TemplateData))]  # one walk: it is long
    written = sum(len(each.data) for each in found if isinstance(each, nodes.TemplateData))
    _step_first(tree, written)
    for node in found:
        if isinstance(node, nodes.Concat):
            parts = nodes.List([*node.nodes], lineno=node.lineno)
            node.nodes = [nodes.Filter(parts, "penstock_concat", [], [], None, None)]
        elif isinstance(node, _BODIES):
            _step_first(node, sum(len(each.data) for each in node.find_all(nodes.TemplateData)))
    return tree


def _step_first(node: _Body, characters: int) -> None:
    step = nodes.Filter(nodes.Const(characters), "penstock_step", [], [], None, None)
    node.body.insert(0, nodes.ExprStmt(step, lineno=node.lineno or 1))


@pass_context
def _step(context: Context, characters: int) -> None:
    _budget_of(context).spend(1, characters)


@pass_context
def _printed(context: Context, value: Any) -> str:  # noqa: ANN401  a value of a template
    text = text_of_value(value)
    _budget_of(context).spend(0, len(text))
    return text


@pass_context
def _concat(_: Context, parts: Iterable[object]) -> str:
    texts = [text_of_value(part) for part in parts]
    refuse_large(sum(map(len, texts)))
    return "".join(texts)


def _budget_of(context: Context) -> BudgetedEnvironment:
    environment = context.environment
    if not isinstance(environment, BudgetedEnvironment):  # nobody else has the filters
        raise TypeError(type(environment))
    return environment


def _measured(own: Callable[..., Any]) -> Callable[..., Any]:
    """Return a filter that refuses arguments with too large a result."""

    def checked(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401  values of a template
        given = [*args, *kwargs.values()]
        refuse_nested([each for each in given if not isinstance(each, _OF_JINJA)])
        refuse_large(max((abs(a) for a in given if isinstance(a, int)), default=0))
        named = own.__name__.removeprefix("do_").removeprefix("sync_do_")
        refuse_large(_size_of_call(named, given))
        return own(*args, **kwargs)

    checked.__dict__.update(getattr(own, "__dict__", {}))  # how Jinja is to call it
    return checked


def text_of_value(value: object) -> str:
    """Return a value as text; refuse lists in lists with too many parts."""
    if isinstance(value, str):
        return value
    if isinstance(value, FunctionType | MethodType):
        return value.__name__  # its address would be another one in every load
    refuse_nested(value)
    return str(value)


def refuse_nested(value: object) -> None:
    """Refuse a value that holds too many parts, each counted as often as it is held."""
    left, count = [value], 0
    while left:
        each = left.pop()
        count += len(each) if isinstance(each, str) else 1
        refuse_large(count)
        if isinstance(each, Mapping):
            left += [*each, *each.values()]
        elif isinstance(each, Collection) and not isinstance(each, str | bytes | range):
            left += each


def refuse_large(size: float) -> None:
    """Refuse a value of that size."""
    if size > MOST_CHARACTERS:
        raise BudgetError(f"rendering makes a value of more than {MOST_CHARACTERS:,} parts")


def _size_of(operator: str, left: object, right: object) -> int:
    """Return the approximate size of the result of an operator."""
    match operator, left, right:
        case "**", int(), int():
            return MOST_CHARACTERS * (left.bit_length() * max(right, 0) > _MOST_BITS) * 2
        case "*", int(), int():
            return left.bit_length() + right.bit_length()
        case ("*", int(count), Sized() as many) | ("*", Sized() as many, int(count)):
            return len(many) * max(count, 0)
        case "+", Sized(), Sized():
            return len(left) + len(right)
        case "%", str(), _:
            return (MOST_CHARACTERS + 1) * bool(_WIDTH.search(left))
    return 0


def _size_of_call(name: str, arguments: Iterable[object]) -> int:
    """Return the approximate size of the result of a method or filter."""
    texts = [each for each in arguments if isinstance(each, str | bytes)]
    if name == "replace" and len(texts) > 2:  # noqa: PLR2004  what, by what
        found = texts[0].count(texts[1]) if isinstance(texts[0], type(texts[1])) else 0  # type: ignore[arg-type]
        return len(texts[0]) + found * len(texts[2])
    if name == "join":
        others = [len(each) for each in arguments if isinstance(each, Sized)]
        return max(others, default=0) * max(map(len, texts), default=0)
    if name in ("format", "format_map"):
        return (MOST_CHARACTERS + 1) * any(_WIDTH.search(t) for t in texts if isinstance(t, str))
    return 0
