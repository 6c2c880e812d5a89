import os
from unittest.mock import patch

import pytest

from penstock.app.receivers import notify


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    """Give receivers time on a slow machine, and undo what the client does to the environment."""
    monkeypatch.setattr(notify, "SECONDS", 60.0)
    with patch.dict(os.environ):
        yield
