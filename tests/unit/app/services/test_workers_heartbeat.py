"""Saying that a run lives."""

import threading

import pytest

from penstock.app.services.workers import beating
from penstock.core.errors import StateError


class Leases:
    """Counts renewals; the ones in `unreachable` raise."""

    def __init__(self, unreachable=()):
        self.renewed = []
        self.unreachable = unreachable
        self.enough = threading.Event()

    def renew(self, run):
        self.renewed.append(run)
        if len(self.renewed) >= 3:
            self.enough.set()
        if len(self.renewed) in self.unreachable:
            raise StateError("state-unreachable", "gone")


def test_leases_are_renewed_until_the_run_ends():
    leases = Leases()

    with beating(leases, "run-1", 0.001):
        assert leases.enough.wait(20)

    assert set(leases.renewed) == {"run-1"}
    assert "penstock-heartbeat" not in {thread.name for thread in threading.enumerate()}


def test_a_store_that_is_gone_for_a_moment_is_tried_again():
    leases = Leases(unreachable=(1, 2))

    with beating(leases, "run-1", 0.001):
        assert leases.enough.wait(20)


def test_the_heart_stops_when_the_run_breaks():
    with pytest.raises(ZeroDivisionError), beating(Leases(), "run-1", 0.001):
        raise ZeroDivisionError

    assert "penstock-heartbeat" not in {thread.name for thread in threading.enumerate()}
