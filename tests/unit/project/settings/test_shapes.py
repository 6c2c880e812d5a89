from __future__ import annotations

import pytest

from penstock.core.findings import Location
from penstock.project.settings.config import ALIASES, OF_SNAPSHOTS, lift
from penstock.project.settings.shapes import ModelConfigShape


@pytest.fixture
def snapshot(load):
    """Load one snapshot of `id` and `value` with these settings."""

    def loaded(header, project="name: shop\n", select="id, value"):
        text = f"{{{{ config({header}) }}}}\nselect {select} from t"
        return load({"models/s.sql": text, "penstock.yml": project}).models["s"]

    return loaded


def test_the_known_settings_are_those_of_the_shape():
    fields = {field.alias or name for name, field in ModelConfigShape.model_fields.items()}
    values = dict.fromkeys(fields - {"snapshot"})

    lifted = lift(values, lambda _: Location("m.sql"))

    assert lifted.values.keys() == fields - {"snapshot", *ALIASES}
    assert {*ALIASES, *ALIASES.values(), *OF_SNAPSHOTS} <= fields
