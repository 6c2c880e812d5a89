"""Names of tables in the keys of checks: a model, a source, `ref('x')` or `source('a', 'b')`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from penstock.core.names import InputKind, InputName
from penstock.project.book import Book

_CALL = re.compile(r"""\s*(?:\{\{)?\s*(ref|source)\s*\((.*)\)\s*(?:\}\})?\s*""", re.DOTALL)
_TEXT = re.compile(r"""\s*(?:'([^']*)'|"([^"]*)")\s*""")


def input_named(
    written: str, book: Book, inputs: Sequence[InputName]
) -> tuple[InputName | None, str]:
    """Find what a name means; beside None stands a hint.

    A table that nobody declared is known where it is one of the `inputs` of the model.
    """
    call = _CALL.fullmatch(written)
    if call is None:
        name = written.replace("`", "").strip()
        found = book.ref(name) or book.table(tuple(name.split(".")))
        if found.input.kind is not InputKind.EXTERNAL or found.input in inputs:
            return found.input, ""
        is_table = "." in name
        hint = book.model_hint(name.rpartition(".")[2])
        return None, hint or (book.source_hint(name) if is_table else "name a model or a source")
    names = _texts(call[2])
    if call[1] == "ref" and len(names) == 1:
        model = book.ref(names[0])
        return (model.input, "") if model else (None, book.model_hint(names[0]))
    if call[1] == "source" and len(names) == 2:  # noqa: PLR2004  schema and table
        source = book.source(*names)
        return (source.input, "") if source else (None, book.source_hint(".".join(names)))
    return None, "write ref('model') or source('schema', 'table')"


def _texts(arguments: str) -> list[str]:
    found = [_TEXT.fullmatch(each) for each in arguments.split(",")]
    return [each[1] or each[2] or "" for each in found if each]
