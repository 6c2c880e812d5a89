"""The folder of a site: written beside what is there, which is in use until all is complete.

`index.html` names the folder of its data, so replacing that one file replaces the whole site. After
the folder it names the site, so that a browser that remembers files asks again.
"""

from __future__ import annotations

import dataclasses
import json
import re
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
_PLAIN = {
    *("bool", "str", "int", "float", "int | None", "float | None"),
    *("tuple[str, ...]", "tuple[int, ...]"),
}
"""The types of fields without documents."""
_MADE = {"lines", "description_html"}
"""Fields whose texts were masked before they became HTML."""
_NAMED = re.compile(r'content="(data-[^"?]+)')


def chunk_text(name: str, document: object) -> str:
    """Return the content of one file of data: a call, because pages of files cannot fetch JSON.

    >>> chunk_text("model-1", {"lines": ("a", None)})
    'penstockData("model-1",{"lines":["a",null]});'
    """
    packed = _packed(document)
    text = _json(packed)
    if SECRETS.hide(mask(text)) != text:  # often only the names of columns
        text = _json(_masked(packed, ""))
    return f"penstockData({json.dumps(name)},{text});"


def _json(document: object) -> str:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))


def _masked(value: object, field: str) -> object:
    """Mask each text by itself: in HTML and JSON a mask would reach into what stands around it."""
    match value:
        case str():
            return SECRETS.hide(value) if field in _MADE else mask(value)
        case list() | tuple():
            return [_masked(each, field) for each in value]
        case dict():
            inner: dict[object, str] = {"of": field, "at": field}
            return {name: _masked(part, inner.get(name, str(name))) for name, part in value.items()}
        case _:
            return value


def _packed(value: object) -> object:
    """Return a document as a mapping, and several of one class as one value a field.

    Their names are so written once, and values that many share too: `{"of": [values], "at":
    [places]}`, without places if all share one. `#` is the number of documents.
    """
    if isinstance(value, tuple):
        found = _fields_of(value[0]) if value else ()
        if len(value) == 1 or not found:
            return [_packed(each) for each in value] if found else value
        return {"#": len(value)} | {name: _column(value, name, is_deep) for name, is_deep in found}
    found = _fields_of(value)
    if not found:
        return value
    return {
        name: _packed(getattr(value, name)) if is_deep else getattr(value, name)
        for name, is_deep in found
    }


def _column(documents: tuple[object, ...], name: str, is_deep: bool) -> object:  # noqa: FBT001
    """Return the values of a field of many documents."""
    values = [getattr(each, name) for each in documents]
    shared = dict.fromkeys(values)
    if len(shared) == 1:
        return {"of": [_packed(values[0])]}
    if 2 * len(shared) > len(values) or isinstance(values[0], int | float):
        return [*map(_packed, values)] if is_deep else values
    places = {value: place for place, value in enumerate(shared)}
    return {"of": [*map(_packed, shared)], "at": [places[each] for each in values]}


def _fields_of(value: object) -> tuple[tuple[str, bool], ...]:
    """Return the names of a document's fields, and whether each may hold documents."""
    return _fields(type(value))  # type: ignore[arg-type]


@cache
def _fields(kind: type) -> tuple[tuple[str, bool], ...]:
    if not dataclasses.is_dataclass(kind):
        return ()
    return tuple((each.name, str(each.type) not in _PLAIN) for each in dataclasses.fields(kind))


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

    Data of earlier sites are removed at the end, and stay if only the project changed. Two
    processes write one after the other.
    """
    output.mkdir(parents=True, exist_ok=True)
    contents = {name: chunk_text(name, document).encode() for name, document in chunks}
    with (output / MARKER).open("w") as marker, _alone(marker):
        data = _data_in_use(output, contents)
        if data is not None:
            replace_file(data / "project.js", contents["project"].decode())
            (data / "project.js").chmod(0o644)
        else:
            data = output / f"data-{generation}"
            data.mkdir()
            for name, content in contents.items():
                (data / f"{name}.js").write_bytes(content)
        for path in BUNDLE.iterdir():
            if path.name != PAGE:
                shutil.copyfile(path, output / path.name)
        named = f'content="{data.name}?{generation}"'
        page = (BUNDLE / PAGE).read_text(encoding="utf-8").replace(_DATA, named)
        replace_file(output / PAGE, page)
        (output / PAGE).chmod(0o644)
        _remove_others(output, data)
    return sum(map(len, contents.values()))


def _data_in_use(output: Path, contents: Mapping[str, bytes]) -> Path | None:
    """Return the folder of the page's data if it has these files, all equal but the project."""
    with suppress(OSError):
        found = _NAMED.search((output / PAGE).read_text(encoding="utf-8"))
        data = output / (found[1] if found else "")
        if {path.name for path in data.iterdir()} == {f"{name}.js" for name in contents} and all(
            name == "project" or (data / f"{name}.js").read_bytes() == content
            for name, content in contents.items()
        ):
            return data
    return None


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
