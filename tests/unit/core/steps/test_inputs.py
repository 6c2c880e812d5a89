"""Pins as reports show them."""

import pytest

from penstock.core.steps.inputs import DeltaPin, FilesPin, NoPin, ViewPin


@pytest.mark.parametrize(
    ("pin", "shown"),
    [
        (DeltaPin("t", 7), "v7"),
        (FilesPin("0123456789", 1), "01234567 (1 file)"),
        (FilesPin("0123456789", 2), "01234567 (2 files)"),
        (ViewPin(3), "step 3"),
        (NoPin(), "unpinned"),
    ],
)
def test_a_pin_is_shown_as_what_it_counts(pin, shown):
    assert str(pin) == shown
