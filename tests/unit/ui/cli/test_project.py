"""`penstock show`: what its flags ask."""

import sys
from types import ModuleType


def test_show_takes_a_date(use_case, call, monkeypatch):
    asked = use_case("commands.show", "show", "detail")
    stand_in = ModuleType("show")
    stand_in.show_text = stand_in.show_document = str
    monkeypatch.setitem(sys.modules, "penstock.ui.render.show", stand_in)

    call("show", "daily", "--date", "2024-12-02")

    assert [words[1:] for words in asked] == [("daily", "2024-12-02")]
