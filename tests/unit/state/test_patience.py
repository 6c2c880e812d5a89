"""How long a command waits for its store, and what it never repeats."""

import threading
from types import SimpleNamespace

import pytest

from penstock.core.errors import StateAwayError
from penstock.state import patience as module
from penstock.state.patience import Patience, PatientStore

PARTS = (
    "journal",
    "leases",
    "records",
    "runs",
    "slices",
    "checks",
    "notes",
    "sessions",
    "archive",
    "hooks",
)
AWAY = StateAwayError("state-unreachable", "the server is away")


class Clock:
    """A clock that only the tests advance, and a patience that waits by it."""

    def __init__(self):
        self.now = 0.0

    def monotonic(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(module, "time", clock)
    monkeypatch.setattr(module, "_PAUSES", ())
    monkeypatch.setattr(module, "_PAUSE", 0.0)
    return clock


@pytest.fixture
def told():
    return []


@pytest.fixture
def patience(told):
    patience = Patience(10.0)
    patience.tell = told.append
    return patience


def failing(clock, times, answer="done"):
    """Give a statement that takes a second and fails so many times."""
    left = [times]

    def act():
        clock.now += 1
        if left[0]:
            left[0] -= 1
            raise AWAY
        return answer

    return act


def test_an_outage_is_waited_for_and_reported_once(patience, clock, told):
    assert patience.repeat(failing(clock, 9)) == "done"
    assert told == [
        "state-away: the server is away; waiting up to 10 s for it",
        "state-away: the state store answers again, after 9 s",
    ]


def test_each_outage_is_reported_and_so_is_its_end(patience, clock, told):
    patience.repeat(failing(clock, 1))
    patience.repeat(failing(clock, 0))
    patience.repeat(failing(clock, 2))

    assert [each[12:30] for each in told] == ["the server is away", "the state store an"] * 2


def test_an_outage_that_lasts_longer_ends_with_the_error(patience, clock):
    with pytest.raises(StateAwayError):
        patience.repeat(failing(clock, 1_000))

    assert clock.now == 11.0  # the first failure came after a second


def test_the_next_statement_of_the_same_outage_waits_no_second_time(patience, clock, told):
    with pytest.raises(StateAwayError):
        patience.repeat(failing(clock, 1_000))
    with pytest.raises(StateAwayError):
        patience.repeat(failing(clock, 1_000))

    assert (clock.now, len(told)) == (12.0, 1)


def test_a_statement_that_fails_while_others_succeed_ends_in_time(patience, clock, told):
    """A server that only reads answers every question and takes no record."""
    fails = failing(clock, 1_000)

    def writes():
        patience.repeat(lambda: "read")
        fails()

    with pytest.raises(StateAwayError):
        patience.repeat(writes)

    assert (clock.now, len(told)) == (11.0, 1)


def test_a_command_that_was_interrupted_waits_no_more_and_says_nothing(patience, clock, told):
    patience.end()

    with pytest.raises(StateAwayError):
        patience.repeat(failing(clock, 1))

    assert (clock.now, told) == (1.0, [])


def test_an_interrupt_ends_a_wait_of_another_thread(patience, clock, monkeypatch):
    monkeypatch.setattr(module, "_PAUSE", 60.0)
    patience.tell = lambda _: patience.end()
    errors = []

    def waits():
        try:
            patience.repeat(failing(clock, 1_000))
        except StateAwayError as error:
            errors.append(error)

    thread = threading.Thread(target=waits, daemon=True)
    thread.start()
    thread.join(10)

    assert errors == [AWAY]


def test_what_reads_one_state_begins_again_as_a_whole(patience, clock):
    statement, begun = failing(clock, 2), []

    def use_case():
        with patience.unrepeated():
            begun.append(clock.now)
            return patience.repeat(statement)

    assert patience.repeat(use_case) == "done"
    assert begun == [0.0, 1.0, 2.0]


class Waits(threading.Event):
    """Keeps what is waited for, and waits for nothing."""

    def __init__(self, clock):
        super().__init__()
        self.seconds, self._clock = [], clock

    def wait(self, timeout=None):
        self.seconds.append(timeout)
        self._clock.now += timeout
        return False


@pytest.mark.parametrize(("failures", "waits"), [(2, [0.0, 0.0]), (5, [0.0] * 5 + [5.0])])
def test_a_lease_that_lapsed_in_an_outage_is_taken_when_living_runs_had_time_to_renew_it(
    clock, failures, waits
):
    patience, calls = Patience(100.0, lapse=3.0), []
    patience._over = Waits(clock)
    away = failing(clock, failures)

    def call(name):
        calls.append(name)
        return away()

    part = SimpleNamespace(begin=lambda: call("begin"), epoch=lambda: call("epoch"))
    store = PatientStore(SimpleNamespace(**dict.fromkeys(PARTS, part)), patience)
    store.journal.begin()

    assert calls == ["begin", *["epoch"] * failures, "begin"]
    assert patience._over.seconds == waits


class Part:
    """Every method of it is away."""

    def __getattr__(self, name):
        def act(*_):
            self.calls = [*self.__dict__.get("calls", []), name]
            raise AWAY

        return act


@pytest.mark.parametrize(("part", "method"), [("leases", "renew"), ("archive", "load")])
def test_a_heartbeat_and_an_import_are_not_repeated(part, method):
    away = SimpleNamespace(**{each: Part() for each in PARTS})
    store = PatientStore(away, Patience(10.0))

    with pytest.raises(StateAwayError):
        getattr(getattr(store, part), method)("x")

    assert getattr(away, part).calls == [method]
