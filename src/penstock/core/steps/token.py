"""The commit token: what a Delta commit contains about its step.

One JSON object of at most 4 KB in `commitInfo.userMetadata`. It contains enough to rebuild the
step's record if the state store is lost, so intents are also stored in this form.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, replace
from typing import Any, NewType

from penstock.core.codec import DocumentCodec, DocumentForm
from penstock.core.columns.typed import TypedValue, read_typed
from penstock.core.entities.slices import SliceId, UnchangedSlice
from penstock.core.findings import Location
from penstock.core.masking import mask
from penstock.core.model import Fingerprint
from penstock.core.names import TableName
from penstock.core.partitions.partition import Grid, read_grid, write_grid
from penstock.core.sessions.manifest import ManifestRow, SessionPromise
from penstock.core.steps.inputs import (
    DeferredInput,
    DeltaPin,
    FilesPin,
    InputPin,
    NoPin,
    Pin,
    ViewPin,
)
from penstock.core.steps.step import ForeignCommit, Intent, StepKind
from penstock.core.steps.window import Bound, InputWindow, Watermark, Window

LIMIT_BYTES = 4096
_MOST_SLICES = 64  # no token has room for more of them
_ALWAYS = tuple(each.name for each in fields(Intent))[:18]
"""The fields of an intent that earlier versions require."""

Said = dict[str, Any]
"""What a document says of a column of an input."""


def write_intent(intent: Intent) -> str:
    """Return the whole intent as one line of JSON."""
    return _line(CODEC.of(Intent).write(intent))


def write_token(
    intent: Intent,
    penstock: str,
    store: str,
    project: str = "",
    *,
    metrics: Mapping[str, int] | None = None,
) -> str:
    """Return the token of a commit; if it is too long, optional parts are dropped.

    `metrics` are counts that Delta does not provide: a recovered step reads them from here.
    """
    signed = {"penstock": penstock, "store": store, **({"project": project} if project else {})}
    for cut in _shorter(replace(intent, uri="")):
        head = json.dumps(
            {**signed, **({"metrics": metrics} if metrics else {})}, separators=(",", ":")
        )
        text = _as_setting(head[:-1] + "," + write_intent(cut)[1:])
        if len(text.encode()) <= LIMIT_BYTES:
            return text
    return _as_setting(json.dumps({**signed, "step": intent.step, "run": intent.run}))


def _as_setting(document: str) -> str:
    r"""Return JSON that is safe in a Spark setting, where `${env:HOME}` would be replaced.

    >>> _as_setting('"${env:HOME}"')
    '"\\u0024{env:HOME}"'
    """
    return document.replace("$", "\\u0024")


def write_fence(intent: Intent, penstock: str, store: str, project: str = "") -> str:
    """Return the token of the commit that prevents a step's own.

    It names the step as the fenced one, not as its author.
    """
    signed = {"penstock": penstock, "store": store, "project": project}
    document = {**signed, "kind": "fence", "fences": intent.step}
    return json.dumps(document, separators=(",", ":"))


def _shorter(intent: Intent) -> Iterator[Intent]:
    """Yield the intent, then with less and less content; inputs are dropped before partitions.

    A step without its inputs is run again, one without its partitions is lost. Only a rollback can
    do without them, because the steps that it undoes contain them.
    """
    yield intent
    yield (intent := replace(intent, reason=""))
    yield (intent := replace(intent, windows=()))
    yield (intent := replace(intent, fingerprint=replace(intent.fingerprint, yaml="")))
    yield (intent := replace(intent, foreign=intent.foreign[:1]))
    intent = replace(intent, unchanged=intent.unchanged[-_MOST_SLICES:])
    while intent.unchanged:
        yield (intent := replace(intent, unchanged=intent.unchanged[1:]))
    yield (intent := replace(intent, inputs=(), deferred=()))
    if intent.session is not None:  # who is released is asked for again
        yield (intent := replace(intent, session=replace(intent.session, released=())))
    if intent.kind is StepKind.ROLLBACK:
        yield replace(intent, partitions=())


def read_slice(text: str) -> tuple[SliceId, dt.datetime]:
    """Parse the slice of an intent that has one, and the processing time."""
    document = json.loads(text)
    return CODEC.of(SliceId).read(document["slice"]), _TIME.read(document["run_timestamp"])


def read_intent(text: str) -> Intent:
    """Parse the result of `write_intent` or `write_token`; raise `MisreadError` otherwise.

    >>> read_intent("{}")
    Traceback (most recent call last):
    penstock.core.codec.MisreadError: lacks 'step'
    """
    return CODEC.of(Intent).read(json.loads(text))  # type: ignore[no-any-return]  # of that type


def read_metrics(token: str) -> dict[str, int]:
    """Parse the counts of a token, empty if it has none.

    >>> read_metrics('{"penstock": "1", "metrics": {"unchanged": 3}}')
    {'unchanged': 3}
    """
    if '"metrics"' not in token:  # most have none, and a log has many
        return {}
    found = _document(token).get("metrics")
    return {str(k): int(v) for k, v in found.items()} if isinstance(found, dict) else {}


def signed_by(token: str) -> tuple[str, str]:
    """Return the step and the store of a token, two "" for any other text.

    >>> signed_by('{"penstock": "1", "store": "s", "step": "a"}')
    ('a', 's')
    """
    document = _document(token)
    return str(document.get("step", "")), str(document.get("store", ""))


def project_of(token: str) -> str:
    """Return the project in a token, "" without one.

    >>> project_of('{"penstock": "1", "store": "s", "project": "shop", "step": "a"}')
    'shop'
    """
    return str(_document(token).get("project", ""))


def _document(token: str) -> Mapping[str, Any]:
    """Parse a token of ours; any other text is ignored."""
    try:
        document = json.loads(token)
    except ValueError:
        return {}
    return document if isinstance(document, dict) and "penstock" in document else {}


def pin_parts(pin: Pin) -> tuple[str, str, int]:
    """Return a pin as kind, text and number: the columns of the store."""
    match pin:
        case DeltaPin(table_id, version):
            return "delta", table_id, version
        case FilesPin(digest, files):
            return "files", digest, files
        case ViewPin(step_seq):
            return "view", "", step_seq
        case NoPin():
            return "none", "", 0


def pin_of(kind: str, text: str, number: int) -> Pin:
    """Parse the result of `pin_parts`."""
    match kind:
        case "delta":
            return DeltaPin(text, number)
        case "files":
            return FilesPin(text, number)
        case "view":
            return ViewPin(number)
        case _:
            return NoPin()


def _keyed(entries: Iterable[tuple[str, str, Said]]) -> dict[str, Said]:
    """Return values for columns of inputs, by `input.column`.

    If that is ambiguous or already used, input and column are added. A document may be sorted by
    its keys: if the keys are not sorted, each entry has its position in `at`.
    """
    found: dict[str, Said] = {}
    for name, column, said in entries:
        key = f"{name}.{column}"
        if "." in column or key in found:
            found[f"{key}#{len(found)}"] = {**said, "of": [name, column]}
        else:
            found[key] = said
    if [*found] == sorted(found):
        return found
    return {key: {**said, "at": place} for place, (key, said) in enumerate(found.items())}


def _of_keys(
    document: Mapping[str, Any] | list[list[Any]],
) -> Iterator[tuple[str, str, Said]]:
    """Parse the result of `_keyed`, or the lists that earlier versions stored."""
    if isinstance(document, list):
        for name, column, *said in document:
            yield name, column, _as_said(*said)
        return
    for key, said in sorted(document.items(), key=lambda each: each[1].get("at", 0)):
        name, _, column = key.rpartition(".")
        name, column = said.get("of", (name, column))
        yield name, column, said


def _as_said(low: list[str] | str | None, high: object = None, *nulls: bool) -> Said:
    """Convert a list of an earlier version: a watermark, or both ends of a window."""
    if isinstance(low, str):
        kind, _, value = low.partition(" ")
        return {"type": kind, "value": value}
    said: Said = {"nulls": any(nulls)}
    for name, end in (("low", low), ("high", high)):
        if isinstance(end, list):
            kind, _, value = end[0].partition(" ")
            closed = end[1] == "in"
            said |= {name: value, f"{name}_type": kind, f"{name}_closed": closed}
    return said


def _write_window(window: InputWindow) -> Said:
    """Write a window without unknown values and open ends."""
    low, high = window.window.lower, window.window.upper
    said: Said = {"kind": window.kind} if window.kind else {}
    for name, end in (("low", low), ("high", high)):
        if end is None:
            continue
        kind = said.setdefault("type", end.value.type)
        if end.value.type != kind:  # the input's type was widened since the watermark
            said[f"{name}_type"] = end.value.type
        said |= {name: end.value.text, f"{name}_closed": end.inclusive}
    said |= {"nulls": True} if window.window.nulls else {}
    return said if window.version is None else said | {"input_version": window.version}


def _read_window(name: str, column: str, document: Said) -> InputWindow:
    ends: list[Bound | None] = []
    for end in ("low", "high"):
        if end not in document:
            ends.append(None)
            continue
        value = read_typed(f"{document.get(f'{end}_type', document.get('type'))} {document[end]}")
        ends.append(Bound(value, inclusive=document[f"{end}_closed"]))
    low, high = ends
    window = Window(column, low, high, nulls=document.get("nulls", False))
    return InputWindow(name, window, document.get("kind", ""), document.get("input_version"))


def _read_watermark(name: str, column: str, document: Said) -> Watermark:
    return Watermark(name, column, read_typed(f"{document['type']} {document['value']}"))


def _line(document: object) -> str:
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False)


def _fingerprints(codec: DocumentCodec) -> DocumentForm:
    """Write fingerprints without empty values; earlier versions left out empty checksums too."""
    write, read = codec.record(Fingerprint, always=("sql", "canonical"))
    empty = {"sql": "", "canonical": ""}
    return DocumentForm(
        write, lambda each: read({**empty, **each} if isinstance(each, dict) else each)
    )


def _intents(codec: DocumentCodec) -> DocumentForm:
    windows = DocumentForm(
        lambda each: _keyed((w.input, w.window.column, _write_window(w)) for w in each),
        lambda document: tuple(_read_window(*each) for each in _of_keys(document)),
    )
    watermarks = DocumentForm(
        lambda each: _keyed(
            (w.input, w.column, {"type": w.value.type, "value": w.value.text}) for w in each
        ),
        lambda document: tuple(_read_watermark(*each) for each in _of_keys(document)),
    )
    text = codec.of(str)
    return codec.record(
        Intent,
        always=_ALWAYS,
        keys={"fingerprint": "fingerprints", "windows": "window", "watermarks": "watermark"},
        forms={
            "reason": DocumentForm(mask, text.read),
            "partitions": codec.of(Keys),
            "windows": windows,
            "watermarks": watermarks,
        },
    )


def _keys(codec: DocumentCodec) -> DocumentForm:
    read = codec.of(str).read
    return DocumentForm(",".join, lambda document: tuple(filter(None, read(document).split(","))))


def _input_pins(codec: DocumentCodec) -> DocumentForm:
    parts = codec.of(tuple[str, str, str, int]).read

    def read(document: list[Any]) -> InputPin:
        name, *pin = parts(document)
        return InputPin(name, pin_of(*pin))

    return DocumentForm(lambda each: [each.input, *pin_parts(each.pin)], read)


def _unchanged(codec: DocumentCodec) -> DocumentForm:
    head = codec.of(tuple[str, int, dt.datetime, Mapping[str, int]])
    of_slice = codec.of(SliceId)

    def read(document: list[Any]) -> UnchangedSlice:
        return UnchangedSlice(of_slice.read(document[4:]), *head.read(document[:4]))

    return DocumentForm(
        lambda each: [
            *head.write((each.step, each.step_seq, each.moment, each.metrics)),
            *of_slice.write(each.id),
        ],
        read,
    )


Keys = NewType("Keys", tuple[str, ...])
"""Keys of partitions as one text, separated by commas."""

CODEC = DocumentCodec(
    {
        DeferredInput: lambda codec: codec.row(DeferredInput),
        Fingerprint: _fingerprints,
        ForeignCommit: lambda codec: codec.row(ForeignCommit),
        Grid: lambda codec: DocumentForm(
            write_grid, lambda text: read_grid(codec.of(str).read(text))
        ),
        InputPin: _input_pins,
        Intent: _intents,
        Keys: _keys,
        Location: lambda codec: codec.row(Location),
        ManifestRow: lambda codec: codec.record(ManifestRow, always=("model", "fingerprint")),
        Pin: lambda codec: DocumentForm(
            pin_parts, lambda parts: pin_of(*codec.of(tuple[str, str, int]).read(parts))
        ),
        SessionPromise: lambda codec: codec.record(SessionPromise, always=("package",)),
        SliceId: lambda codec: codec.row(SliceId),
        TableName: lambda codec: codec.row(TableName),
        TypedValue: lambda codec: DocumentForm(
            str, lambda text: read_typed(codec.of(str).read(text))
        ),
        UnchangedSlice: _unchanged,
    }
)
"""The forms of all values in intents and records."""
_TIME = CODEC.of(dt.datetime)
