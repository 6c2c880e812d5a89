from __future__ import annotations

from penstock.core.findings import Location
from penstock.project.settings.config import ALIASES, HOOK_KEYS, OF_SNAPSHOTS, lift
from penstock.project.settings.model_keys import ModelConfigSection


def test_the_known_settings_are_those_of_a_model():
    keys = {*ModelConfigSection.declared}
    values = dict.fromkeys(keys - {"snapshot"})

    lifted = lift(values, lambda _: Location("m.sql"))

    assert lifted.values.keys() == keys - {"snapshot", *ALIASES, *HOOK_KEYS}
    assert {*ALIASES, *ALIASES.values(), *OF_SNAPSHOTS} <= keys
