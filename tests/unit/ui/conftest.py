"""Commands with a stand-in for the use case that they call."""

import contextlib
import datetime as dt
import sys
from types import ModuleType, SimpleNamespace

import pytest

from penstock.ui.cli.main import main

NOON = dt.datetime(2024, 12, 16, 12, tzinfo=dt.UTC)


SHOP = SimpleNamespace(clock=SimpleNamespace(now=lambda: NOON))


@pytest.fixture
def use_case(monkeypatch):
    """Put a function in the place of a use case, or of several; give what it was called with."""

    @contextlib.contextmanager
    def opened(_):
        yield SHOP

    monkeypatch.setattr("penstock.app.services.wire.open_request", opened)

    def replaced(module, names, answer):
        asked = []

        def called(*words, **more):
            asked.append((*words, *more.values()))
            return answer(*words) if callable(answer) else answer

        stand_in = ModuleType(f"penstock.app.{module}")
        for name in names.split():
            setattr(stand_in, name, called)
        monkeypatch.setitem(sys.modules, f"penstock.app.{module}", stand_in)
        return asked

    return replaced


@pytest.fixture
def call(capfd):
    def called(*words):
        capfd.readouterr()
        code = main(words)
        return (code, *capfd.readouterr())

    return called
