"""The words of the core are values: frozen, and without room for more fields."""

import pkgutil
from functools import cached_property
from importlib import import_module
from inspect import getmembers, isclass

import penstock.core


def test_every_dataclass_of_the_core_is_frozen_and_has_slots_unless_it_caches():
    open_ones = [
        f"{each.__module__}.{each.__qualname__}"
        for each in dataclasses()
        if not each.__dataclass_params__.frozen or not (is_slotted(each) or caches(each))
    ]

    assert open_ones == []


def dataclasses():
    """Give the classes that the modules of the core define."""
    names = [each.name for each in pkgutil.walk_packages(penstock.core.__path__, "penstock.core.")]
    assert len(names) > 40
    for name in names:
        for _, each in getmembers(import_module(name), isclass):
            if each.__module__ == name and "__dataclass_params__" in vars(each):
                yield each


def is_slotted(kind):
    return all("__slots__" in vars(each) for each in kind.__mro__ if "__module__" in vars(each))


def caches(kind):
    family = (kind, *kind.__subclasses__())
    return any(isinstance(each, cached_property) for one in family for each in vars(one).values())
