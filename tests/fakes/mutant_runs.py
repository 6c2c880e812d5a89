"""Commands that only read, called on a mutant in this process: what they must not do."""

from __future__ import annotations

import contextlib
import io
import json
import signal
import traceback
from collections.abc import Iterator
from pathlib import Path

from fakes.mutants import Mutant
from fakes.wording import unhelpful
from penstock.ui.cli.main import main

WORK_SECONDS, WAIT_SECONDS = 10, 120
KNOWN = {
    "minimal": "orders_clean",
    "demo": "daily_flight_stats",
    "sessions": "web_sessions",
    "mixed": "users",
}


class HungError(BaseException):
    """A command took longer than anybody waits."""


def commands(mutant: Mutant) -> list[tuple[str, ...]]:
    """Give the reading commands, with a model of the project and with the words of the mutant."""
    name, (one, two, three) = KNOWN[mutant.base], mutant.words
    return [
        ("list",),
        ("list", "--select", one),
        ("plan",),
        ("plan", "--select", two, "--as-of", three),
        ("status",),
        ("status", "--select", f"+{name}"),
        ("show", name),
        ("show", one, "--date", two),
        ("show", name, "--vars", f"late={three}", "--vars", two),
        ("graph",),
        ("entities", "list"),
        ("entities", "validate"),
        ("entities", "show", one),
        ("entities", "slices", "x"),
        ("sessions", "limits", "web"),
        ("sessions", "manifest", one),
        ("history", name),
        ("diff",),
        ("audit",),
        ("watermark", "show"),
        ("test", "--select", one, "--test", two),
        ("run", "--dry-run", "--select", f"{name}+"),
        ("sync", "--dry-run", "--date", two),
        ("backfill", "--dry-run", "--select", name, "--start", one, "--end", three),
        ("check", "--dry-run", "--select", three),
    ]


def wrong(mutant: Mutant, root: Path, *, most: int) -> Iterator[str]:
    """Run `validate`, then at `most` so many of the others; give what is wrong.

    All load the project in one way: of a project that does not load one other says it too.
    """
    with contextlib.chdir(root):
        code, said = called("validate", "--json")
        yield from complaints(("validate",), code, said)
        others = commands(mutant)
        at = sum(map(ord, "".join(mutant.words))) % len(others)
        others = [*others[at:], *others[:at]][: 1 if code == 1 else most]
        for words in others:
            yield from complaints(words, *called(*words, "--json"))


def called(*words: str) -> tuple[int | None, str]:
    """Call a command; give exit code and stdout, or None and the traceback."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    before = [(each, signal.signal(each, _hung)) for each in (signal.SIGALRM, signal.SIGVTALRM)]
    signal.setitimer(signal.ITIMER_REAL, WAIT_SECONDS)  # for what waits, on a pipe for example
    signal.setitimer(signal.ITIMER_VIRTUAL, WORK_SECONDS)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main(words)
            out.flush()
            err.flush()
    except BaseException:  # noqa: BLE001  whatever comes is what is looked for
        return None, traceback.format_exc()[-3000:]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        for number, handler in before:
            signal.signal(number, handler)
    return code, out.buffer.getvalue().decode()


def _hung(*_: object) -> None:
    raise HungError


def complaints(words: tuple[str, ...], code: int | None, said: str) -> Iterator[str]:
    """Give a traceback or hang, an unknown exit code, and findings whose words do not help."""
    if code is None or code not in (0, 1, 2):
        yield f"{words}: {code} {said}"
        return
    try:
        document = json.loads(said) if said else {}
    except ValueError:
        yield f"{words}: no document: {said[:300]}"
        return
    for found in _findings(document):
        code, said, hint = str(found["code"]), str(found.get("message")), str(found["hint"] or "")
        if not hint:
            yield f"{words}: no hint: {code}: {said}"
        for wrong in unhelpful(code, said, hint):
            yield f"{words}: {wrong}: {code}: {said}: {hint}"


def _findings(tree: object) -> Iterator[dict[str, object]]:
    if isinstance(tree, dict):
        if "code" in tree and "hint" in tree:
            yield tree
        for value in tree.values():
            yield from _findings(value)
    elif isinstance(tree, list):
        for value in tree:
            yield from _findings(value)
