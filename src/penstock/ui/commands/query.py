"""`query`: rows of the project's tables, on the screen or in a file."""

from __future__ import annotations

import io
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO, cast

from penstock.app.documents import document_of, printed
from penstock.app.flags import FlagSpec, a_count
from penstock.app.read_requests import QueryRequest
from penstock.core.errors import UsageError
from penstock.core.ports.engine import QueryResult
from penstock.ui.cli.options import ask, command
from penstock.ui.cli.output import CommandOutput, as_wide_as, print_rows
from penstock.ui.cli.streams import answer
from penstock.ui.render.tables import aligned
from penstock.ui.render.values import count

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from penstock.app.commands.query import ExportedFile


def query_text(result: QueryResult) -> str:
    """Return the rows under the query's column names, then their number."""
    rows = [["NULL" if value is None else value for value in row] for row in result.rows]
    body = aligned([result.columns, *rows], [False] * len(result.columns))
    more = "; there are more, see --limit" if result.truncated else ""
    return f"{body}\n\n{count(len(rows), 'row')}{more}"


def exported_text(file: ExportedFile) -> str:
    """Return how many rows were written to which file."""
    return f"wrote {count(file.rows, 'row')} to {file.file}"


query_document = partial(document_of, names="columns rows truncated")


exported_document = partial(document_of, names="file form rows")


Limit = Annotated[
    int | None, a_count("Maximum number of rows.  [default: 100, all with --format or --output]")
]


Form = Annotated[
    str | None,
    FlagSpec("Output format.", ("--format",), choices=("csv", "json", "parquet")),
]


File = Annotated[
    Path | None,
    FlagSpec("Write the rows to this file; its extension sets the format.", ("--output",), "FILE"),
]


class _Screen(io.RawIOBase):
    """A binary file whose lines are printed as the answer."""

    def write(self, line: Buffer, /) -> int:
        """Print a line of UTF-8."""
        print_rows(bytes(line).decode(), nl=False)
        return len(bytes(line))


@command(
    "penstock query \"select * from {{ ref('users_clean') }} where country = 'DE'\"\n"
    'penstock query "select * from staging.users_clean" --output users.csv'
)
def query_command(
    output: CommandOutput,
    request: QueryRequest,
    *,
    limit: Limit = None,
    form: Form = None,
    file: File = None,
) -> None:
    """Run a query over the project's tables.

    Name models, seeds and sources as schema.table, a model also by its name alone. Templates work
    as in models.
    """
    from penstock.app.commands.query import export, form_of, query

    asked = form_of(form, file)
    if asked is None:
        result = ask(request, query, request.sql, limit or 100)
        with as_wide_as(answer()):
            as_json = output.as_json
            text = printed(query_document(result), hide=False) if as_json else query_text(result)
        print_rows(text)
    elif file is not None:
        made = ask(request, export, request.sql, limit, asked, file)
        output.print(made, exported_text, exported_document, unless_quiet=True)
    elif output.as_json:
        sentence = "--format and --json exclude each other"
        raise UsageError("option-conflict", sentence, hint="leave --json out")
    else:
        ask(request, export, request.sql, limit, asked, cast("BinaryIO", _Screen()))
