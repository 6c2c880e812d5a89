"""Places in the user's files, and the findings of `validate`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from penstock.core.masking import mask
from penstock.core.shown.notebooks import ShownInNotebooks


@dataclass(frozen=True, slots=True, order=True)
class Location:
    """A place in a project file; `path` is relative to the project root, lines start at 1.

    >>> str(Location("models/a.sql", 3, 7))
    'models/a.sql:3:7'
    """

    path: str
    line: int = 1
    column: int = 0

    def __str__(self) -> str:
        """Return the place, without the column if it is unknown."""
        column = f":{self.column}" if self.column else ""
        return f"{self.path}:{self.line}{column}"


class Severity(StrEnum):
    """An error stops every command that needs the project; a warning stops `--strict`.

    Information stops nothing.
    """

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


FINDING_COLUMNS = "severity where code sentence hint"
"""What notebooks show of each finding."""


@dataclass(frozen=True, slots=True, order=True)
class Finding(ShownInNotebooks):
    """One result of `validate`; sorts by file, line, column, code.

    `about` names the affected models, empty if it affects the whole project.

    >>> print(Finding(Location("a.sql", 3, 7), "bad-value", "threads is 0", "give 1 or more"))
    a.sql:3:7: error: bad-value: threads is 0
      hint: give 1 or more
    """

    _columns = FINDING_COLUMNS

    where: Location
    code: str
    sentence: str
    hint: str = ""
    severity: Severity = Severity.ERROR
    about: tuple[str, ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        """Add the default hint of the code if there is no other."""
        if not self.hint and self.code in HINTS:
            object.__setattr__(self, "hint", HINTS[self.code])

    @property
    def is_error(self) -> bool:
        """Whether the finding stops a command."""
        return self.severity is Severity.ERROR

    @property
    def is_warning(self) -> bool:
        """Whether the finding stops only `--strict`."""
        return self.severity is Severity.WARNING

    def render(self) -> str:
        """Return the text in which findings are printed, without secrets."""
        hint = f"\n  hint: {mask(self.hint)}" if self.hint else ""
        return f"{self.where}: {self.severity}: {self.code}: {mask(self.sentence)}{hint}"

    def __str__(self) -> str:
        """Return the same as `render`."""
        return self.render()


def some(items: Sequence[str], most: int, separator: str = ", ") -> str:
    """Return the first items and the number of others; with `; ` between clauses.

    >>> some(["a", "b", "c"], 2), some(["a", "b"], 2), some([], 2)
    ('a, b and 1 more', 'a, b', '')
    >>> some(["a is 1", "b is 2", "c is 3"], 1, "; ")
    'a is 1; and 2 more'
    """
    named, rest = separator.join(items[:most]), len(items) - most
    if rest <= 0:
        return named
    return f"{named}{' ' if separator == ', ' else separator}and {rest} more"


IGNORED_CODE = "not-taken-over"
"""The code for settings from other tools, mainly dbt, that have no effect here."""
HINTS: Mapping[str, str] = {
    "after-check-failed": "correct the input, the query or the check; penstock check looks again",
    "alias-conflict": "delete one of the two",
    "ambiguous-reference": "write the schema in front: schema.table",
    "bad-bound": "write a value that the column's type can hold",
    "bad-check-expression": "write it as a check with sql: that selects the bad rows",
    "bad-expression": "use columns of the slice, and functions that depend on the row alone",
    "bad-selector": "write it as in docs/reference/selectors.md",
    "bad-table-name": "write schema.table",
    "bad-test-value": "correct the value, or declare the column's type under columns:",
    "bad-usage": "penstock --help lists commands, and COMMAND --help flags",
    "bad-value": "use a value that the message names; penstock schema prints keys and values",
    "bronze-fits-nothing": "correct slice_pattern, or move the files out of the bronze folder",
    "calculated-column-failed": "correct the expression under columns: that the message shows",
    "check-cols-missing": "give check_cols a list of columns, or 'all'",
    "check-error": "correct the check at the place named; penstock check runs it alone",
    "check-not-partitioned": "filter by @partition_date",
    "check-order-dropped": "no action needed if intended; otherwise read a table built before",
    "cluster-field-missing": "add the column to that schema, or take it out of cluster",
    "clustered-table": "write layout: clustered, or move the table's folder away",
    "column-added": "no action needed if intended; otherwise take the column out of the slice",
    "column-not-selected": "select the column in the query, or correct its name",
    "concurrent-writer": "run again when the other writer has finished",
    "connector-missing": "penstock doctor --fix fetches it; or set spark.jars to one of your own",
    "crashed": "run again; nothing of the step is in the table",
    "delete-window-undefined": "no action needed: the next step has both bounds",
    "delta-needs-incremental": "take it out, or make the function incremental",
    "driver-missing": "pip install 'penstock-delta[postgres]'",
    "duplicate-key": "delete one of the two",
    "duplicate-model": "rename one; folders do not tell models apart",
    "duplicate-source": "delete one of the declarations",
    "empty-partition-value": "write coalesce(nullif(column, ''), 'none') in the query",
    "empty-selection": "take a selector or an --exclude away; penstock list shows what there is",
    "empty-slice": "check whether the extract failed; allow_empty: true lets an empty slice count",
    "empty-versions": "write at least one version: number, effective_from and sql",
    "external-table": "correct the name, or declare the table under sources: in a YAML file",
    "features-left": "where a reader cannot open the table: ALTER TABLE … DROP FEATURE … in Spark",
    "foreign-table": "move the table away, or take it over with --adopt",
    "grants-not-supported": "delete grants, or use a catalog that knows them",
    "grants-without-catalog": "set catalog: for the target, or grant rights on the folder",
    "history-changed-underneath": "run again when the other writer has finished",
    "hook-changes-rows": "write it into the query of the model",
    "hook-failed": "correct the hook, and run again",
    "hook-not-supported": "name a table, or set catalog: for the target",
    "horizon-too-short": "raise the number to the one of the message, or write null",
    "input-behind-watermark": "nothing; penstock watermark set goes back if rows came again",
    "input-unpinned": "declare the source with table or path, to skip it where nothing is new",
    "internal-error": "report it with the traceback; the step was not committed",
    "interrupted": "run the command in the last line to resume",
    "invalid-partition": "write the partition as penstock status prints it",
    "java-missing": "install Java 17 or newer, or set JAVA_HOME; penstock doctor looks again",
    "java-too-old": "install Java 17 or newer, or point JAVA_HOME to it",
    "lease-held": "wait with --wait SECONDS, or penstock unlock TABLE if that run is gone",
    "mapping-domain-mismatch": "write partitions: all",
    "mapping-narrower-than-sql": "widen the entry of depends_on, or filter the input in the SQL",
    "metrics-mismatch": "penstock snapshot verify MODEL shows the rows; report it",
    "missing-bounds": "give min, max or both, or one of the percentages",
    "missing-key": "add the key; penstock schema prints those that are needed",
    "model-failed": "correct the function at the line named",
    "no-match": "penstock list shows what can be selected",
    "no-tracked-models": "name a module under modules:, or tag a model with the package's tag",
    "no-watermark": "penstock watermark show lists those that there are",
    "not-a-frame": "return a DataFrame",
    "not-a-query": "write one select, without insert, create or a second statement",
    "not-an-entity-table": "give the entity another table, or take this one over with --adopt",
    "not-taken-over": "write it as penstock knows it, or leave it out",
    "not-a-delta-table": "name the folder that holds _delta_log",
    "not-utf8": "save the file as UTF-8 text",
    "nothing-checked": "read why the checks were skipped, or select others",
    "null-in-required-column": "leave such rows out in the query, or make the column NULLABLE",
    "option-conflict": "keep one of the two",
    "option-without-effect": "take it out, or choose the strategy that it belongs to",
    "output-column-extra": "declare the column in the schema, or do not select it",
    "output-column-missing": "select the column, or take it out of the schema",
    "output-type-mismatch": "cast the column in the query, or declare its type",
    "partition-field-missing": "add the column to that schema, or correct partition.field",
    "partition-type-mismatch": "give the column a type that the message names, or another grain",
    "openlineage-missing": "pip install 'penstock-delta[openlineage]'",
    "path-outside-project": "name a file or folder of the project, relative to its root",
    "private-model": "add the reader to the group, or write access: protected",
    "project-findings": "penstock validate prints them with their places; correct each",
    "python-import-failed": "correct the code at the place named; it runs when the project is read",
    "reference-cycle": "write one of the two out instead of referring to it",
    "reference-wrong-field": "name the same key: schema under schema, sql under sql",
    "remote-not-supported": "copy the files to a local disk or a bucket of S3 and write that path",
    "rerun-bounds": "give the earlier end first",
    "rerun-bounds-type": "give a value of the time column's type",
    "rerun-unsupported": "penstock run makes the table again as a whole",
    "reserved-column": "rename the column, or set another system_columns.prefix",
    "revision-before-version": "let the revision start at its version's effective_from, or later",
    "rollback-refused": "review the rows; penstock rollback undoes a step",
    "rolled-back": "run again; the next plan has these partitions",
    "row-outside-partition": "filter the query by @partition_date, or by @start_date and @end_date",
    "rows-outside-window": "set grain if the function rounds times, or window_on",
    "run-time-before-history": "give a later --as-of or --processing-time",
    "session-needed-at-import": "build it inside the function",
    "session-without-delta": "build the session with Delta's extension and its catalog",
    "slice-gone": "no action needed, unless you want to rebuild the table",
    "slice-order-in-doubt": "set order: natural, or order: name to keep the order of names",
    "slice-out-of-order": "deliver the slice that is missing, or let it wait",
    "snapshot-needs-snapshot-run": "penstock snapshot run",
    "spark-connect": "pass a session that runs its own driver",
    "spark-error": "read the message, and the log that the run names",
    "spark-in-trouble": "do what the warning says before the JVM dies",
    "sql-file-not-found": "correct the path; it is relative to the file that names it",
    "start-date-after-progress": "set start_date back, or forget with penstock sessions forget",
    "state-away": "bring the database back, or stop the command and repeat it later",
    "stray-file": "move it out of this folder, or correct its ending",
    "table-gone": "run again; the next plan rebuilds the table",
    "table-of-another-store": "give the model another schema or alias, or add --adopt",
    "table-unreadable": "restore the file, or rebuild that table with --full-refresh",
    "target-unreadable": "make the table's folder and log readable; other models still run",
    "template-budget": "let the loop or macro end earlier, or make rows with sequence(1, n)",
    "template-error": "correct the expression between {{ }} or {% %} at the line named",
    "template-needs-table": "list the columns under columns: in YAML, or write them in the query",
    "template-raised": "correct what the message names",
    "template-reads-table": "write it as a join or subquery of the model",
    "template-syntax": "close what is opened: {{ with }}, {% if %} with {% endif %}, and quotes",
    "template-warning": "no action needed unless the message asks for it",
    "test-column-missing": "correct the column's name, or select it in the model",
    "type-changed": "no action needed if intended; otherwise cast the column in its model",
    "type-differs": "no action needed if intended; otherwise cast the column in its model",
    "type-unsupported": "write a type of Spark: STRING, BIGINT, DECIMAL(38,9), TIMESTAMP",
    "type-widened": "no action needed if intended; otherwise cast the column in its model",
    "unknown-command": "penstock --help lists commands",
    "unknown-check": "use the name of an existing check",
    "unknown-check-type": "write one of the types that docs/checks.md lists",
    "unknown-column": "name a column that the query or the table has",
    "unknown-docs": "correct its name, or write the block in a .md file",
    "unknown-field": "correct the name; inner fields are written with dots",
    "unknown-group": "correct the name, or declare it under groups:",
    "unknown-key": "correct its name, or delete it; penstock schema prints the keys",
    "unknown-model": "penstock list shows the models",
    "unknown-name": "correct the spelling, or define the macro in a .sql file under macros/",
    "unknown-placeholder": "write {destination}; {column} is known under check alone",
    "unknown-reference": "correct the name, or declare it: as a model, or under sources: in YAML",
    "unknown-seed": "correct the name, or put the file into seeds/",
    "unknown-step": "penstock history MODEL lists the steps with their ids",
    "unknown-variable": "remove it, or use the key that you meant",
    "unknown-version-reference": "name a version that the file has",
    "unreadable-file": "check that the file exists, is a plain file and is readable",
    "updated-at-type": "cast the column to a date or a timestamp in the query",
    "upstream-drifted": "first update what it names",
    "upstream-flagged": "review the check, or run: penstock check --accept STEP --reason TEXT",
    "upstream-mapping-all": "filter the input by its partition field, or declare depends_on",
    "version-inside-partition": "let the version start where a partition starts",
    "version-order": "correct the date, or the number",
    "volatile-change-column": "compare other columns, or select this one from the source",
    "column-unknown": "add it to columns, or set rescued: COLUMN",
    "volatile-column": "leave it, or make the column of the row alone",
    "watermark-in-future": "correct the row, then penstock watermark set",
    "wrong-column-type": "name a column of the type that the message asks for",
    "yaml-syntax": "correct the line; texts with : # { or [ need quotes, and tabs never indent",
}
"""Hints by error code, for errors that do not have their own.

`docs/errors.md` explains every code; this lists the codes that need a default hint.
"""
