"""What can happen to the records of a model."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from penstock.core.check_results import Checked, InvariantReport
from penstock.core.records import WatermarkChange
from penstock.core.steps.step import Intent, Outcome, StepFailure
from penstock.state.transitions.model_state import Key


@dataclass(frozen=True, slots=True)
class Began:
    """A step was written as RUNNING, with the number that its intent has."""

    intent: Intent
    started: dt.datetime
    executed_by: str = ""
    lease_token: int = 0


@dataclass(frozen=True, slots=True)
class Finished:
    """A step made its commit, or had none to make.

    With `by_time`, for steps that only the logs tell of, what is newer than the step is told by the
    time and not by the number.
    """

    step_seq: int
    at: dt.datetime
    outcome: Outcome
    recovered: bool = False
    by_time: bool = False


@dataclass(frozen=True, slots=True)
class Failed:
    """A step made no commit; one that was `skipped` never began, because of a check."""

    step_seq: int
    at: dt.datetime
    failure: StepFailure
    recovered: bool = False
    skipped: bool = False


@dataclass(frozen=True, slots=True)
class GivenUp:
    """A step that was called failed has landed: it makes room for what is to be written anew."""

    step_seq: int


@dataclass(frozen=True, slots=True)
class ChecksRecorded:
    """The checks of a running step were looked at; its end goes by them."""

    step_seq: int
    at: dt.datetime
    checked: Checked


@dataclass(frozen=True, slots=True)
class ChecksSettled:
    """The pending checks of a step that ended were looked at, or a rollback is due no more."""

    step_seq: int
    at: dt.datetime
    checked: Checked


@dataclass(frozen=True, slots=True)
class ChecksNoted:
    """`penstock check` looked at a model."""

    run: str
    at: dt.datetime
    report: InvariantReport
    partitions: tuple[str, ...]
    version: int | None


@dataclass(frozen=True, slots=True)
class FlagsClosed:
    """A person, or a check that passes now, closed flags of the model."""

    keys: tuple[Key, ...]
    at: dt.datetime
    why: str
    who: str


@dataclass(frozen=True, slots=True)
class QuarantineDropped:
    """The rows that a step had kept are gone."""

    step_seq: int
    at: dt.datetime


@dataclass(frozen=True, slots=True)
class WatermarkSet:
    """A person set or reset a watermark; the value may go down."""

    change: WatermarkChange


OfStep = Finished | Failed | GivenUp | ChecksRecorded | ChecksSettled | QuarantineDropped
Event = Began | OfStep | ChecksNoted | FlagsClosed | WatermarkSet
