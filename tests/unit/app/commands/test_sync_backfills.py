"""What a backfill refuses."""

import pytest

from fakes.builders import a_model, a_source
from fakes.workshop import Workshop
from penstock.app.commands.sync import preview_sync
from penstock.app.request import BackfillRequest
from penstock.core.errors import UsageError
from penstock.core.strategy import WindowSettings
from penstock.strategies.append import Append


def test_a_table_that_grows_by_windows_has_nothing_to_backfill():
    grows = a_model("top", "raw.events", strategy=Append(WindowSettings("n")))
    workshop = Workshop(a_source("events"), grows)
    request = BackfillRequest(".", "top", from_="1", to="2", dry_run=True)

    with pytest.raises(UsageError) as told:
        preview_sync(workshop.services(), request)

    assert (told.value.code, told.value.sentence) == (
        "not-backfilled",
        "top is built as append: there is nothing to backfill",
    )
    assert told.value.hint == "penstock run --select top --full-refresh"
