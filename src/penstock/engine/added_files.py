"""The rows that one commit added, as a Delta table of their own: a log that names its files."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote, urlsplit

from penstock.core.errors import TableError
from penstock.engine.commit_file import Actions, read_actions
from penstock.engine.folders import filesystem
from penstock.engine.log_folder import commit_path, gap, is_local, open_version
from penstock.engine.log_metadata import checksum

_NAMING = "delta.columnMapping."  # the only properties that say how files are read
_SAID_OF_FILES = ("partitionValues", "size", "modificationTime", "stats")


def write_log(uri: str, version: int, folder: str) -> None:
    """Write the log of a table in `folder` whose files are those that a commit added.

    Of the properties it has those without which its files cannot be read. `rows-not-apart` if the
    commit hid rows of a file that was there before: it adds that file anew.
    """
    added = _actions(uri, version)
    if any(add.get("deletionVector") for add in added.adds):
        raise TableError(
            "rows-not-apart",
            f"version {version} of {uri} hid rows of files, so what it added cannot be told apart",
            hint="check the whole table: scope: table",
        )
    protocol, metadata = _shape(uri, version)
    lines = [{"protocol": protocol}, {"metaData": metadata}, *_adds(uri, added)]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    system, path = filesystem(f"{folder.rstrip('/')}/_delta_log")
    system.create_dir(path)
    with system.open_output_stream(f"{path}/{0:020d}.json", compression=None) as file:
        file.write(text.encode())


def _actions(uri: str, version: int) -> Actions:
    try:
        if is_local(uri):
            return read_actions(commit_path(uri, version))
        system, path = filesystem(f"{uri.rstrip('/')}/_delta_log/{version:020d}.json")
        with system.open_input_stream(path) as file:
            return Actions.from_lines(file.read().decode().splitlines())
    except FileNotFoundError:
        raise gap(uri, version) from None


def _shape(uri: str, version: int) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Give the protocol and the metadata of a version: Spark's checksum file has them."""
    told = checksum(uri, version) if is_local(uri) else {}
    if {"protocol", "metadata"} <= told.keys():
        return told["protocol"], _plain(told["metadata"])
    table = open_version(uri, version)
    if table is None:
        raise gap(uri, version)
    spoken, known = table.protocol(), table.metadata()
    protocol: dict[str, Any] = {
        "minReaderVersion": spoken.min_reader_version,
        "minWriterVersion": spoken.min_writer_version,
    }
    features = {"readerFeatures": spoken.reader_features, "writerFeatures": spoken.writer_features}
    protocol |= {name: list(each) for name, each in features.items() if each is not None}
    return protocol, _plain(
        {
            "id": str(known.id),
            "schemaString": table.schema().to_json(),
            "partitionColumns": known.partition_columns,
            "configuration": known.configuration,
        }
    )


def _plain(metadata: Mapping[str, Any]) -> Mapping[str, Any]:
    properties = metadata.get("configuration") or {}
    return {
        "id": metadata["id"],
        "format": {"provider": "parquet", "options": {}},
        "schemaString": metadata["schemaString"],
        "partitionColumns": list(metadata.get("partitionColumns") or ()),
        "configuration": {k: v for k, v in properties.items() if k.startswith(_NAMING)},
    }


def _adds(uri: str, added: Actions) -> Iterator[Mapping[str, Any]]:
    root = _encoded(uri)
    for add in added.adds:
        path = add["path"]
        is_whole = path.startswith("/") or urlsplit(path).scheme
        said = {name: add[name] for name in _SAID_OF_FILES if name in add}
        whole = path if is_whole else f"{root}/{path}"
        yield {"add": {"path": whole, **said, "dataChange": True}}


def _encoded(uri: str) -> str:
    """Give a table's folder as a URI, in which Delta has encoded everything unusual.

    >>> _encoded("/w h/t/")
    'file:///w%20h/t'
    """
    scheme, _, path = (uri if "://" in uri else f"file://{uri}").partition("://")
    return f"{scheme}://{quote(path.rstrip('/'))}"
