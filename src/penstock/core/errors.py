"""What can go wrong, as one tree.

::

    PenstockError                    a sentence for the user, never a bug
    ├── UsageError                   the command could not be understood        exit 2
    │   ├── SelectorError            a selector matches nothing
    │   ├── UnknownModelError        no model has that name
    │   ├── EntityNotFoundError      no entity has that id
    │   ├── ConnectionNotFoundError  no entity has that connection
    │   ├── ProcessStrategyNotSupportedError  an entity is not written in that way
    │   └── RerunError               a range that cannot be run again
    ├── ProjectError                 the project has findings                   exit 1
    │   ├── CircularDependencyError  its only one: models read each other
    │   ├── DuplicateModelError      or two have one name
    │   ├── UnknownReferenceError    or nothing is called so; an UnknownModelError
    │   ├── FunctionFindingError     or is about a function; a PythonModelError
    │   └── ProjectPlaceError        no such folder, or target of it            exit 2
    ├── EnvironmentMissingError      Java, pyspark or a driver is absent        exit 2
    ├── SparkDiedError               Spark's JVM ended under the command        exit 1
    ├── StateError                   the store cannot be used                   exit 2
    │   ├── StateAwayError       it does not answer now, and may do so later
    │   ├── LeaseHeldError           another run writes this target             exit 75
    │   └── PlanOutdatedError        another step came between plan and begin
    ├── LeaseLostError               this run no longer owns its target         exit 1
    ├── TableError                   a table or its log is not as it must be    exit 1
    │   ├── SchemaError              a query does not fit its table
    │   │   ├── SchemaChangeError    a function gives other columns
    │   │   └── PartitionSchemaError its table is cut into other partitions
    │   └── ConcurrentWriterError    a commit met another writer's
    ├── DataError                    rows that may not be written               exit 1
    │   ├── DuplicateKeysError       keys occur more than once
    │   ├── CheckFailedError         a gate failed                              exit 3
    │   └── IncrementalConfigError   options and rows do not fit; a TableError  exit 1
    ├── HookError                    SQL beside a step or a run failed          exit 1
    ├── SessionLimitsError           a package has no limits that can be        exit 1
    ├── QueryError                   Spark refused a model's SQL                exit 1
    ├── PythonModelError             a function gave what no table can hold     exit 1
    │   └── ModelFailedError         a function raised                          exit 1
    └── InterruptedRunError          Ctrl-C                                     exit 130

Each carries a stable kebab-case `code`, a place, one sentence with the wrong value and one hint.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from penstock.core.findings import FINDING_COLUMNS, HINTS
from penstock.core.masking import mask
from penstock.core.shown.notebooks import ShownInNotebooks

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from penstock.core.findings import Finding, Location
    from penstock.core.records import Lease


DISTRIBUTION = "penstock-delta"
"""The name of penstock in package indexes; the import and the command are `penstock`."""


def install_hint(extra: str) -> str:
    """Return the command that installs penstock with an extra.

    >>> install_hint("spark")
    "pip install 'penstock-delta[spark]'"
    """
    return f"pip install '{DISTRIBUTION}[{extra}]'"


_ERROR_COLUMNS = "code where sentence hint"


class PenstockError(Exception, ShownInNotebooks):
    """A user's mistake or an external failure, with a message for the user and without secrets.

    >>> error = UsageError("bad-flag", "'--form' is no flag", hint="did you mean '--from'?")
    >>> print(error.render())
    error: bad-flag: '--form' is no flag
      hint: did you mean '--from'?
    """

    _columns = _ERROR_COLUMNS

    exit_code: ClassVar[int] = 1
    report: object = None
    """The report of the run that ended with it, if a script ran it."""

    def __init__(
        self, code: str, sentence: str, *, where: Location | None = None, hint: str = ""
    ) -> None:
        self.sentence = mask(sentence)
        super().__init__(self.sentence)
        self.code = code
        self.where = where
        self.hint = mask(hint or HINTS.get(code, ""))

    def render(self) -> str:
        """Return `file:line: code: sentence` and, on a separate line, the hint."""
        head = f"{self.where}: " if self.where else "error: "
        hint = f"\n  hint: {self.hint}" if self.hint else ""
        return f"{head}{self.code}: {self.sentence}{hint}"


class UsageError(PenstockError):
    """The command line, or an argument of the Python entry point, is invalid."""

    exit_code = 2


class SelectorError(UsageError):
    """A selector matches nothing or cannot be parsed."""


class UnknownModelError(UsageError):
    """No model has that name."""


class EntityNotFoundError(UsageError):
    """No entity has that id."""


class ConnectionNotFoundError(UsageError):
    """No entity has that connection."""


class ProcessStrategyNotSupportedError(UsageError):
    """The entity does not support that process type."""


class ProjectError(PenstockError):
    """The project has findings of severity error; all of them are attached."""

    _rows = "findings"
    _columns = FINDING_COLUMNS

    project: object = None
    """The part of the project that could be read, for `validate`."""

    def __init__(self, findings: tuple[Finding, ...]) -> None:
        errors = [finding for finding in findings if finding.is_error]
        sentence = f"the project has {len(errors)} error{'s' * (len(errors) != 1)}"
        super().__init__("project-findings", sentence)
        if type(self) is not ProjectError:  # a class of its own, for the only one
            one = errors[0]
            super().__init__(one.code, one.sentence, where=one.where, hint=one.hint)
        self.findings = findings

    def render(self) -> str:
        """Return every finding, in the order of files and lines."""
        return "\n".join(finding.render() for finding in self.findings)


class CircularDependencyError(ProjectError):
    """Models depend on each other in a cycle; the only finding."""


class DuplicateModelError(ProjectError):
    """Two models have one name or one path; the only finding."""


class UnknownReferenceError(ProjectError, UnknownModelError):
    """A reference matches nothing, or several things; the only finding."""

    exit_code = 1


class ProjectPlaceError(ProjectError, UsageError):
    """An app's folder does not exist, or its project has no such target."""

    _rows = ""
    _columns = _ERROR_COLUMNS

    def __init__(self, code: str, sentence: str, *, hint: str = "") -> None:
        PenstockError.__init__(self, code, sentence, hint=hint)
        self.findings = ()

    render = PenstockError.render


class EnvironmentMissingError(PenstockError):
    """Software outside penstock is missing."""

    exit_code = 2


class SparkDiedError(PenstockError):
    """Spark's JVM has ended: this process cannot do anything more."""


class StateError(PenstockError):
    """The state store cannot be opened, read or written."""

    exit_code = 2


class StateAwayError(StateError):
    """The state store is temporarily unavailable: a restarting server, a lock, a full disk."""


class LeaseHeldError(StateError):
    """Another run holds the lease of a target; `holder` says which."""

    exit_code = 75

    def __init__(self, holder: Lease, hint: str) -> None:
        super().__init__(
            "lease-held",
            f"{holder.target} is being written by run {holder.run} "
            f"(host {holder.host}, pid {holder.pid}) since {holder.acquired:%Y-%m-%d %H:%M:%S} UTC",
            hint=hint,
        )
        self.holder = holder


class PlanOutdatedError(StateError):
    """Another step of the target came between planning and `begin`: plan the step again."""

    def __init__(self, target: str) -> None:
        super().__init__("plan-outdated", f"{target} was written after it was planned")


class LeaseLostError(PenstockError):
    """The lease lapsed and another run took it: this step must not commit or finish."""


class HookError(PenstockError):
    """SQL that runs beside a step or a run failed."""


class SessionLimitsError(PenstockError):
    """The options of a session package contradict what its models have processed."""


class TableError(PenstockError):
    """A table, its log or its files are in a state that steps cannot build on."""


class SchemaError(TableError):
    """The query's columns do not match those of the table."""


@dataclass(frozen=True, slots=True)
class ColumnChange:
    """A column that changed from `old` to `new`; None if it did not exist, or was removed.

    >>> print(ColumnChange("a", "BIGINT", "STRING"), ColumnChange("c", None, "INT"), sep=", ")
    a: BIGINT -> STRING, c INT
    """

    name: str
    old: str | None
    new: str | None

    def __str__(self) -> str:
        """Return it in the form of messages."""
        if self.old and self.new:
            return f"{self.name}: {self.old} -> {self.new}"
        return f"{self.name} {self.new}" if self.new else self.name


class SchemaChangeError(SchemaError):
    """A function returns other columns than its table has: `added`, `removed`, `type_changes`.

    `passes` is whether a run that allows schema changes would accept them.
    """

    def __init__(
        self,
        model: str,
        changes: Sequence[ColumnChange],
        *,
        where: Location | None,
        hint: str,
        passes: bool = True,
    ) -> None:
        self.passes = passes
        self.added = tuple(each for each in changes if each.old is None)
        self.removed = tuple(each for each in changes if each.new is None)
        self.type_changes = tuple(each for each in changes if each.old and each.new)
        found = {"added": self.added, "removed": self.removed, "type_changes": self.type_changes}
        words = ", ".join(
            f"{word}=[{', '.join(map(str, each))}]" for word, each in found.items() if each
        )
        super().__init__("schema-changed", f"{model}: {words}", where=where, hint=hint)


class PartitionSchemaError(SchemaError):
    """The partition columns of a function's table differ from its code, at least in order."""


class ConcurrentWriterError(TableError):
    """Delta refused the commit because another writer committed in the meantime."""


class DataError(PenstockError):
    """Rows that must not reach the table: duplicate keys, NULL keys, NULL watermarks."""


def error_of_warnings(notes: Iterable[str], where: Location | None) -> DataError | None:
    """Return warnings as one error, each as `code: sentence`; None without any."""
    first, *others = [*notes] or [""]
    code, _, sentence = first.partition(": ")
    hint = "without --strict it is a warning; nothing was written"
    said = "; ".join((sentence, *others))
    return DataError(code, said, where=where, hint=hint) if first else None


class DuplicateKeysError(DataError):
    """Duplicate keys: their number, and a few of them as text."""

    count = 0
    samples: tuple[str, ...] = ()


class IncrementalConfigError(DataError, TableError):
    """Columns, types or rows do not meet the requirements of a windowed model."""


class CheckFailedError(DataError):
    """A gate failed: `before-check-failed` or `after-check-failed`."""

    exit_code = 3


class QueryError(PenstockError):
    """Spark failed to analyse or run the SQL of a model."""


class RerunError(UsageError):
    """A range that cannot be run again: wrong model, type or order."""


class PythonModelError(PenstockError):
    """A function of the project does not do what its decorator requires."""


class FunctionFindingError(ProjectError, PythonModelError):
    """An invalid declaration of a function; the only finding."""


_OF_ONE: dict[str, type[ProjectError]] = {
    "dependency-cycle": CircularDependencyError,
    "duplicate-model": DuplicateModelError,
    "duplicate-path": DuplicateModelError,
    "unknown-reference": UnknownReferenceError,
    "ambiguous-reference": UnknownReferenceError,
}


_NO_CODE = re.compile(r"[^.]*|.*\.(sql|ya?ml|json|csv)")
"""Files without functions; in a notebook, or in a document that is tested, the others vary."""


def project_error(findings: tuple[Finding, ...]) -> ProjectError:
    """Return the error of a project: for a single error its own class, otherwise all findings."""
    errors = [finding for finding in findings if finding.is_error]
    kind = ProjectError
    if len(errors) == 1:
        of_function = not _NO_CODE.fullmatch(errors[0].where.path)
        kind = _OF_ONE.get(errors[0].code, FunctionFindingError if of_function else ProjectError)
    return kind(findings)


class ModelFailedError(PythonModelError):
    """A function of the project raised an exception, which is the cause."""


class InterruptedRunError(PenstockError):
    """A signal, or a function that raised KeyboardInterrupt, ended the run before its steps."""

    exit_code = 130


def interruption(where: Location | None = None, *, hint: str = "") -> InterruptedRunError:
    """Return the error of an interrupted run."""
    return InterruptedRunError("interrupted", "the run was interrupted", where=where, hint=hint)
