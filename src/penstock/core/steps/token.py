"""The commit token: what a Delta commit says about the step that made it.

One JSON object of at most 4 KB in `commitInfo.userMetadata`. It holds enough to write the step's
record anew when the state store is lost, so intents are also stored in this form.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, astuple, replace
from typing import Any

from penstock.core.columns.typed import TypedValue, read_typed
from penstock.core.entities.slices import SliceId, UnchangedSlice
from penstock.core.masking import mask
from penstock.core.model import Fingerprint
from penstock.core.names import TableName
from penstock.core.partitions.partition import Grid, read_grid, write_grid
from penstock.core.sessions.manifest import ManifestRow, SessionPromise
from penstock.core.steps.inputs import DeltaPin, FilesPin, InputPin, NoPin, Pin, ViewPin
from penstock.core.steps.step import ForeignCommit, Intent, StepKind
from penstock.core.steps.window import Bound, InputWindow, Watermark, Window
from penstock.core.strategy import Writing

LIMIT_BYTES = 4096
_TIMES = ("last_success", "covered_to", "advanced_to")

Json = Mapping[str, "JsonValue"]
JsonValue = str | int | bool | None | list["JsonValue"] | Json


def write_intent(intent: Intent) -> str:
    """Return the whole intent as one line of JSON."""
    document: dict[str, JsonValue] = {
        "step": intent.step,
        "step_seq": intent.step_seq,
        "run": intent.run,
        "model": intent.model,
        "table": [intent.table.schema, intent.table.table],
        "uri": intent.uri,
        "kind": str(intent.kind),
        "strategy": intent.strategy,
        "reason": mask(intent.reason),
        "triggered_by": intent.triggered_by,
        "run_timestamp": intent.run_timestamp.isoformat(),
        "partitions": ",".join(intent.partitions),
        "fingerprints": _write_fingerprint(intent.fingerprint),
        "inputs": [[p.input, *pin_parts(p.pin)] for p in intent.inputs],
        "window": _keyed((w.input, w.window.column, _write_window(w)) for w in intent.windows),
        "watermark": _keyed((w.input, w.column, _write_value(w.value)) for w in intent.watermarks),
        "lowers_watermarks": intent.lowers_watermarks,
        "base_version": intent.base_version,
    }
    of_few: dict[str, JsonValue] = {
        "grid": write_grid(intent.grid) if intent.grid != Grid() else "",
        "restores": intent.restores,
        "on_failure": intent.on_failure,
        "writing": str(intent.writing) if intent.writing is not Writing.MERGED else "",
        "epoch": intent.epoch,
        "lane": intent.lane,
        "cut_at": intent.cut_at.isoformat() if intent.cut_at else "",
        "passed_by": list(intent.passed_by),
        "session": _write_promise(intent.session) if intent.session else {},
        "slice": [*astuple(intent.slice)] if intent.slice else [],
        "unchanged": [_write_unchanged(each) for each in intent.unchanged],
        "foreign": [_write_foreign(each) for each in intent.foreign],
    }
    document |= {name: value for name, value in of_few.items() if value}
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False)


def write_token(
    intent: Intent,
    penstock: str,
    store: str,
    project: str = "",
    *,
    metrics: Mapping[str, int] | None = None,
) -> str:
    """Return the token of a commit; what a rebuild can do without goes first when it is too long.

    `metrics` are counts that Delta does not make: a step that is recovered has them from here.
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
    r"""Write JSON so that Spark takes it as it is: it replaces `${env:HOME}` in any setting.

    >>> _as_setting('"${env:HOME}"')
    '"\\u0024{env:HOME}"'
    """
    return document.replace("$", "\\u0024")


def write_fence(intent: Intent, penstock: str, store: str, project: str = "") -> str:
    """Return the token of the commit that keeps a step's own from ever landing.

    It names the step as the one that is fenced, not as its maker.
    """
    signed = {"penstock": penstock, "store": store, "project": project}
    document = {**signed, "kind": "fence", "fences": intent.step}
    return json.dumps(document, separators=(",", ":"))


def _shorter(intent: Intent) -> Iterator[Intent]:
    """Yield the intent, then with less and less of it; partitions outlive inputs.

    A step without its inputs is run again, one without its partitions is lost. Only a rollback
    can do without them: the steps that it undoes tell them.
    """
    yield intent
    yield (intent := replace(intent, reason=""))
    yield (intent := replace(intent, windows=()))
    yield (intent := replace(intent, fingerprint=replace(intent.fingerprint, yaml="")))
    yield (intent := replace(intent, foreign=intent.foreign[:1]))
    while intent.unchanged:
        yield (intent := replace(intent, unchanged=intent.unchanged[1:]))
    yield (intent := replace(intent, inputs=()))
    if intent.session is not None:  # who is released is asked for again
        yield (intent := replace(intent, session=replace(intent.session, released=())))
    if intent.kind is StepKind.ROLLBACK:
        yield replace(intent, partitions=())


def read_slice(text: str) -> tuple[SliceId, dt.datetime]:
    """Read the slice of an intent that has one, and the processing time."""
    document = json.loads(text)
    return SliceId(*document["slice"]), dt.datetime.fromisoformat(document["run_timestamp"])


def _write_unchanged(found: UnchangedSlice) -> list[JsonValue]:
    of_step = [found.step, found.step_seq, found.moment.isoformat(), {**found.metrics}]
    return [*of_step, *astuple(found.id)]


def _read_unchanged(given: list[Any]) -> UnchangedSlice:
    step, step_seq, moment, metrics, *of_slice = given
    at = dt.datetime.fromisoformat(moment)
    return UnchangedSlice(SliceId(*of_slice), step, step_seq, at, metrics)


def _write_foreign(found: ForeignCommit) -> list[JsonValue]:
    return [found.version, found.time.isoformat(), found.operation, found.user]


def _read_foreign(given: list[Any]) -> ForeignCommit:
    version, time, operation, user = given
    return ForeignCommit(version, dt.datetime.fromisoformat(time), operation, user)


def read_intent(text: str) -> Intent:
    """Read what `write_intent` or `write_token` gave.

    >>> read_intent("{}")
    Traceback (most recent call last):
    KeyError: 'fingerprints'
    """
    document = json.loads(text)
    fingerprint = _read_fingerprint(document["fingerprints"])
    schema, table = document["table"]
    return Intent(
        step=document["step"],
        step_seq=document["step_seq"],
        run=document["run"],
        model=document["model"],
        table=TableName(schema, table),
        uri=document["uri"],
        kind=StepKind(document["kind"]),
        strategy=document["strategy"],
        reason=document["reason"],
        triggered_by=document["triggered_by"],
        run_timestamp=dt.datetime.fromisoformat(document["run_timestamp"]),
        partitions=tuple(document["partitions"].split(",")) if document["partitions"] else (),
        fingerprint=fingerprint,
        inputs=tuple(InputPin(name, pin_of(*rest)) for name, *rest in document["inputs"]),
        windows=tuple(_read_window(*each) for each in _of_keys(document["window"])),
        watermarks=tuple(
            Watermark(name, column, read_typed(f"{said['type']} {said['value']}"))
            for name, column, said in _of_keys(document["watermark"])
        ),
        lowers_watermarks=document["lowers_watermarks"],
        base_version=document["base_version"],
        grid=read_grid(document.get("grid", "*")),
        restores=document.get("restores", 0),
        on_failure=document.get("on_failure", ""),
        writing=Writing(document.get("writing", Writing.MERGED)),
        epoch=document.get("epoch", ""),
        lane=document.get("lane", ""),
        cut_at=dt.datetime.fromisoformat(cut) if (cut := document.get("cut_at")) else None,
        passed_by=tuple(document.get("passed_by", ())),
        session=_read_promise(said) if (said := document.get("session")) else None,
        slice=SliceId(*read) if (read := document.get("slice")) else None,
        unchanged=tuple(map(_read_unchanged, document.get("unchanged", ()))),
        foreign=tuple(map(_read_foreign, document.get("foreign", ()))),
    )


def read_metrics(token: str) -> dict[str, int]:
    """Read the counts of a token, none where it has none.

    >>> read_metrics('{"penstock": "1", "metrics": {"unchanged": 3}}')
    {'unchanged': 3}
    """
    if '"metrics"' not in token:  # most have none, and a log has many
        return {}
    found = _document(token).get("metrics")
    return {str(k): int(v) for k, v in found.items()} if isinstance(found, dict) else {}


def signed_by(token: str) -> tuple[str, str]:
    """Return the step and the store of a token, two "" for text that is none of ours.

    >>> signed_by('{"penstock": "1", "store": "s", "step": "a"}')
    ('a', 's')
    """
    document = _document(token)
    return str(document.get("step", "")), str(document.get("store", ""))


def project_of(token: str) -> str:
    """Return the project that a token names, "" for text that names none.

    >>> project_of('{"penstock": "1", "store": "s", "project": "shop", "step": "a"}')
    'shop'
    """
    return str(_document(token).get("project", ""))


def _document(token: str) -> Mapping[str, Any]:
    """Read a token of ours; others may write any text, of which nothing is read."""
    try:
        document = json.loads(token)
    except ValueError:
        return {}
    return document if isinstance(document, dict) and "penstock" in document else {}


def _write_fingerprint(fingerprint: Fingerprint) -> Json:
    """Leave out what says nothing; the version is 1 where it is left out."""
    since = fingerprint.effective_from
    found = asdict(fingerprint) | {
        "version": fingerprint.version if fingerprint.version != 1 else 0,
        "effective_from": since.isoformat() if since else "",
    }
    return {name: value for name, value in found.items() if value}


def _read_fingerprint(document: Mapping[str, Any]) -> Fingerprint:
    since = document.get("effective_from")
    read = {"effective_from": dt.date.fromisoformat(since)} if since else {}
    return Fingerprint(**{"sql": "", "canonical": "", **document, **read})


def _write_promise(promise: SessionPromise) -> Json:
    """Leave out what says nothing; when the row was written is not known yet."""
    row: dict[str, JsonValue] = {}
    if promise.row is not None:
        times = {name: getattr(promise.row, name) for name in _TIMES}
        row = {name: at.isoformat() for name, at in times.items() if at is not None}
        row |= {"model": promise.row.model, "fingerprint": promise.row.fingerprint}
    said: dict[str, JsonValue] = {
        "package": promise.package,
        "row": row,
        "released": [*promise.released],
        "stitched": promise.stitched,
    }
    return {name: value for name, value in said.items() if value}


def _read_promise(document: Mapping[str, Any]) -> SessionPromise:
    said, row = document.get("row"), None
    if said:
        written = (said.get(name) for name in _TIMES)
        times = [dt.datetime.fromisoformat(at) if at else None for at in written]
        row = ManifestRow(said["model"], times[0], times[1], times[2], said["fingerprint"])
    released = tuple(document.get("released", ()))
    return SessionPromise(document["package"], row, released, document.get("stitched", 0))


def pin_parts(pin: Pin) -> tuple[str, str, int]:
    """Return a pin as kind, text and number: the columns in which stores keep it."""
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
    """Read what `pin_parts` gave."""
    match kind:
        case "delta":
            return DeltaPin(text, number)
        case "files":
            return FilesPin(text, number)
        case "view":
            return ViewPin(number)
        case _:
            return NoPin()


def _keyed(entries: Iterable[tuple[str, str, dict[str, JsonValue]]]) -> Json:
    """Return what is said of columns of inputs under `input.column`.

    Where that does not tell the two apart, or was there before, they are named as well. A document
    may be sorted by its keys: where they are not in their order, each says `at` which place.
    """
    found: dict[str, Json] = {}
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
) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Read what `_keyed` gave, or the lists that stood there in the stores of earlier versions."""
    if isinstance(document, list):
        for name, column, *said in document:
            yield name, column, _as_said(*said)
        return
    for key, said in sorted(document.items(), key=lambda each: each[1].get("at", 0)):
        name, _, column = key.rpartition(".")
        name, column = said.get("of", (name, column))
        yield name, column, said


def _as_said(low: list[str] | str | None, high: object = None, *nulls: bool) -> Mapping[str, Any]:
    """Return what a list of an earlier version says: a watermark, or both ends of a window."""
    if isinstance(low, str):
        kind, _, value = low.partition(" ")
        return {"type": kind, "value": value}
    said: dict[str, Any] = {"nulls": any(nulls)}
    for name, end in (("low", low), ("high", high)):
        if isinstance(end, list):
            kind, _, value = end[0].partition(" ")
            closed = end[1] == "in"
            said |= {name: value, f"{name}_type": kind, f"{name}_closed": closed}
    return said


def _write_value(value: TypedValue) -> dict[str, JsonValue]:
    return {"type": value.type, "value": value.text}


def _write_window(found: InputWindow) -> dict[str, JsonValue]:
    """Leave out what is not known, and an end that is open."""
    low, high = found.window.lower, found.window.upper
    said: dict[str, JsonValue] = {"kind": found.kind} if found.kind else {}
    for name, end in (("low", low), ("high", high)):
        if end is None:
            continue
        kind = said.setdefault("type", end.value.type)
        if end.value.type != kind:  # the input's type was widened since the watermark
            said[f"{name}_type"] = end.value.type
        said |= {name: end.value.text, f"{name}_closed": end.inclusive}
    said |= {"nulls": True} if found.window.nulls else {}
    return said if found.version is None else said | {"input_version": found.version}


def _read_window(name: str, column: str, said: Mapping[str, Any]) -> InputWindow:
    ends: list[Bound | None] = []
    for end in ("low", "high"):
        if end not in said:
            ends.append(None)
            continue
        value = read_typed(f"{said.get(f'{end}_type', said.get('type'))} {said[end]}")
        ends.append(Bound(value, inclusive=said[f"{end}_closed"]))
    low, high = ends
    window = Window(column, low, high, nulls=said.get("nulls", False))
    return InputWindow(name, window, said.get("kind", ""), said.get("input_version"))
