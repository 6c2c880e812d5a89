"""The rows that one commit added, as a separate Delta table whose log names their files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from penstock.core.errors import TableError
from penstock.engine.disk.disks import disk_at
from penstock.engine.log import folder as log
from penstock.engine.log.tables import Metadata, checksum, metadata_action, open_version

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


_NAMING = "delta.columnMapping."  # the only properties that say how files are read
_SAID_OF_FILES = ("partitionValues", "size", "modificationTime", "stats")


def write_log(uri: str, version: int, folder: str, since: int | None = None) -> None:
    """Write the log of a table in `folder` that contains the files a commit added.

    With `since`, all commits after that version. It has only those properties that are required to
    read the files. Raises `rows-not-apart` if the commit hid rows of an existing file, because it
    then adds that file again.
    """
    first = version if since is None else since + 1
    adds = [add for each in range(first, version + 1) for add in log.read_actions(uri, each).adds]
    if any(add.get("deletionVector") for add in adds):
        raise TableError(
            "rows-not-apart",
            f"version {version} of {uri} hid rows of files, so its added rows are unknown",
            hint="check the whole table: scope: table",
        )
    protocol, metadata = _shape(uri, version)
    lines = [{"protocol": protocol}, {"metaData": _plain(metadata)}, *_adds(uri, adds)]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    disk_at(folder).put(log.commit_file(folder, 0), text.encode())


def _shape(uri: str, version: int) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Return the protocol and the metadata of a version, from Spark's checksum file."""
    summary = checksum(uri, version)
    with suppress(*log.UNREADABLE):  # a damaged checksum; the log itself may be whole
        Metadata.read(summary["metadata"])
        if {"minReaderVersion", "minWriterVersion"} <= summary["protocol"].keys():
            return summary["protocol"], summary["metadata"]
    table = open_version(uri, version)
    if table is None:
        raise log.gap_error(uri, version)
    spoken = table.protocol()
    protocol: dict[str, Any] = {
        "minReaderVersion": spoken.min_reader_version,
        "minWriterVersion": spoken.min_writer_version,
    }
    features = {"readerFeatures": spoken.reader_features, "writerFeatures": spoken.writer_features}
    protocol |= {name: list(each) for name, each in features.items() if each is not None}
    return protocol, metadata_action(table)


def _plain(metadata: Mapping[str, Any]) -> Mapping[str, Any]:
    properties = metadata.get("configuration") or {}
    return {
        "id": metadata["id"],
        "format": {"provider": "parquet", "options": {}},
        "schemaString": metadata["schemaString"],
        "partitionColumns": list(metadata.get("partitionColumns") or ()),
        "configuration": {k: v for k, v in properties.items() if k.startswith(_NAMING)},
    }


def _adds(uri: str, adds: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Return the files with full URIs, in which Delta has encoded special characters."""
    scheme, _, folder = (uri if "://" in uri else f"file://{uri}").partition("://")
    root = f"{scheme}://{quote(folder.rstrip('/'))}"
    for add in adds:
        path = add["path"]
        is_whole = path.startswith("/") or urlsplit(path).scheme
        said = {name: add[name] for name in _SAID_OF_FILES if name in add}
        whole = path if is_whole else f"{root}/{path}"
        yield {"add": {"path": whole, **said, "dataChange": True}}


# Spark's default is a form of timestamps that other readers take for older than it is.
CONFS = {"spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS"}
_PLAIN = {
    "compression": "none",
    "parquet.enable.dictionary": "false",
    "parquet.column.statistics.enabled": "false",
    "parquet.size.statistics.enabled": "false",
}


def write_files(frame: DataFrame, folder: str) -> DataFrame:
    """Write a frame's rows as the only Parquet files of a folder; return a frame that reads them.

    It has the same columns with any names: in the files they are named by position.
    """
    placed = frame.toDF(*[f"c{place}" for place in range(len(frame.columns))])
    placed.write.mode("overwrite").options(**_PLAIN).parquet(folder)
    reader = frame.sparkSession.read.schema(placed.schema)
    return reader.parquet(folder).toDF(*frame.columns)


def count_rows(folder: str) -> int:
    """Return the number of rows in a folder's Parquet files, from their footers."""
    from pyarrow import parquet as pq

    disk, count = disk_at(folder), 0
    for each in disk.entries(folder):
        if each.name.endswith(".parquet"):
            with disk.open(f"{folder}/{each.name}") as file:
                count += pq.read_metadata(file).num_rows
    return count
