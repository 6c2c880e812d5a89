"""Use cases that read: they decide from one state of the store, whoever writes meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from penstock.app.shop import Shop

Asked = ParamSpec("Asked")
Given = TypeVar("Given")


def in_one_state(
    use_case: Callable[Concatenate[Shop, Asked], Given],
) -> Callable[Concatenate[Shop, Asked], Given]:
    """Let a use case see one state of the records over all its reads.

    It starts no JVM and writes no records: the state is held for as long as it lasts.
    """

    @wraps(use_case)
    def reading(shop: Shop, /, *asked: Asked.args, **named: Asked.kwargs) -> Given:
        with shop.reading.one_state():
            return use_case(shop, *asked, **named)

    return reading
