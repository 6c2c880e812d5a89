"""Commands that change records by hand wait, as a run does, for a store that is away."""

import pytest

from fakes.builders import a_model, a_source
from fakes.workshop import Workshop
from penstock.app.commands.accept import accept
from penstock.app.commands.rollback import rollback
from penstock.app.request import RollbackRequest
from penstock.core.errors import StateAwayError
from penstock.core.strategy import WindowSettings
from penstock.state import patience
from penstock.strategies.append import Append

NEVER_REPEATED = ("renew", "load")


class AwayAtFirst:
    """A store that is away at the first call of each of its methods."""

    def __init__(self, inner, away):
        self._inner, self._away = inner, away

    def __getattr__(self, name):
        found = getattr(self._inner, name)
        if not callable(found):
            return AwayAtFirst(found, self._away)
        if name in (*NEVER_REPEATED, "one_state", "close"):
            return found

        def asked(*given, **named):
            if name not in self._away:
                self._away.append(name)
                raise StateAwayError("state-unreachable", "the server is away")
            return found(*given, **named)

        return asked


def accepting(workshop, services):
    found = accept(services, "top", "seen")
    return [each.version for each in found.commits]


def undoing(workshop, services):
    last = workshop.store.records.steps_of("top")[-1].intent.step
    request = RollbackRequest(workshop.project, "top", to=last, include_foreign=True)
    return rollback(services, request).committed


@pytest.mark.parametrize("deed", [accepting, undoing])
def test_a_change_by_hand_is_made_once_the_store_is_back(deed, monkeypatch):
    monkeypatch.setattr(patience, "_PAUSES", ())
    monkeypatch.setattr(patience, "_PAUSE", 0.0)
    answers, away = [], []
    for is_away in (False, True):
        workshop = Workshop(
            a_source("events"), a_model("top", "raw.events", strategy=Append(WindowSettings("n")))
        )
        workshop.run()
        workshop.lake.land("/landing/events", n="2")
        workshop.run()
        workshop.lake.land(workshop.uri("top"))
        services = workshop.services()
        if is_away:
            opened = AwayAtFirst(workshop.store, away)
            services.open_reading = services.open_writing = lambda opened=opened: opened
        answers.append((deed(workshop, services), len(workshop.store.records.steps_of("top"))))

    assert answers[0] == answers[1]
    assert {"models", "begin", "finish"} <= set(away)
