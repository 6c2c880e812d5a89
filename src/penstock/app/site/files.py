"""The folder of a site: written beside what is there, which is in use until all is complete.

`index.html` names the folder of its data, so replacing that one file replaces the whole site.
"""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TextIO

from penstock.app.services.files import replace_file
from penstock.core.errors import EnvironmentMissingError, UsageError
from penstock.core.masking import SECRETS, mask

BUNDLE = Path(__file__).with_name("bundle")
"""What `make setup` builds from frontend/, and wheels contain."""
PAGE = "index.html"
MARKER = ".penstock-site"
_DATA = 'content="data"'
"""The place of the data's folder in the page."""


def chunk_text(name: str, document: object) -> str:
    """Return the content of one file of data: a call, because pages of files cannot fetch JSON.

    >>> chunk_text("model-1", {"lines": ("a", None)})
    'penstockData("model-1",{"lines":["a",null]});'
    """
    text = json.dumps(document, default=_fields, ensure_ascii=False, separators=(",", ":"))
    return f"penstockData({json.dumps(name)},{SECRETS.hide(mask(text))});"


def _fields(document: object) -> Mapping[str, object]:
    return {name: getattr(document, name) for name in _names(type(document))}  # type: ignore[arg-type]


@cache
def _names(kind: type) -> tuple[str, ...]:
    return tuple(each.name for each in dataclasses.fields(kind))


def require_bundle() -> None:
    """Raise `site-not-built` without the front end."""
    if not (BUNDLE / PAGE).is_file():
        raise EnvironmentMissingError(
            "site-not-built",
            f"the pages of the site are not built: {BUNDLE} does not exist",
            hint="run make setup in the clone; then install it again if it is installed elsewhere",
        )


def require_ours(output: Path) -> None:
    """Raise `site-not-ours` for a file, or a folder with anything that is not a site."""
    if not output.exists():
        return
    if output.is_dir() and ((output / MARKER).is_file() or not any(output.iterdir())):
        return
    raise UsageError(
        "site-not-ours",
        f"{output} exists and is not a site of penstock; nothing was changed",
        hint="give --output another folder, or remove this one",
    )


def write_site(output: Path, generation: str, chunks: Iterable[tuple[str, object]]) -> int:
    """Write a site and return its size in bytes; a reader sees the old one or the new one.

    Data of earlier sites are removed at the end. Two processes write one after the other.
    """
    output.mkdir(parents=True, exist_ok=True)
    with (output / MARKER).open("w") as marker, _alone(marker):
        data, size = output / f"data-{generation}", 0
        data.mkdir()
        for name, document in chunks:
            content = chunk_text(name, document).encode()
            (data / f"{name}.js").write_bytes(content)
            size += len(content)
        for path in BUNDLE.iterdir():
            if path.name != PAGE:
                shutil.copyfile(path, output / path.name)
        page = (BUNDLE / PAGE).read_text(encoding="utf-8").replace(_DATA, f'content="{data.name}"')
        replace_file(output / PAGE, page)
        (output / PAGE).chmod(0o644)
        _remove_others(output, data)
    return size


@contextmanager
def _alone(marker: TextIO) -> Iterator[None]:
    """Wait until no other process writes this site; some file systems know no locks."""
    import fcntl

    with suppress(OSError):
        fcntl.flock(marker, fcntl.LOCK_EX)
    yield


def _remove_others(output: Path, data: Path) -> None:
    """Remove data of earlier sites, and what killed processes left."""
    for old in output.glob("data-*"):
        if old != data:
            shutil.rmtree(old, ignore_errors=True)
    for half in output.glob(f".{PAGE}.*"):
        half.unlink(missing_ok=True)
