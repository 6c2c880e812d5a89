"""The buckets of a process, and how `obstore` and `deltalake` connect to each."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

from penstock.core.errors import EnvironmentMissingError, install_hint
from penstock.core.ports.engine import Disk, FileStat
from penstock.core.storage import StoreAccess, access_to, bucket_and_key, is_s3, same_place

if TYPE_CHECKING:
    from deltalake import DeltaTable
    from obstore.store import ClientConfig, S3Config


@dataclass(slots=True)
class CachedTable:
    """What is known of a table at a version, whose commit is a file as it was listed.

    `metadata` and `transactions`, the last one of each application, are those of Spark's checksum
    file, None if it does not say; `is_checked` after it was read.
    """

    version: int
    commit: FileStat
    """The commit's file; by its size and time, too, because some stores have one etag for all."""
    has_checksum: bool = False
    """Whether the checksum file was written for this commit, and not for a removed one."""
    table: DeltaTable | None = None
    metadata: Mapping[str, Any] | None = None
    transactions: Mapping[str, int] | None = None
    is_checked: bool = False


class Buckets:
    """The buckets of a process, each opened when it is first used."""

    def __init__(self) -> None:
        """Connect to all of them with the settings of the environment."""
        self._storage: Mapping[str, StoreAccess] = {}
        self.disks: dict[str, Disk] = {}
        self.tables: dict[str, CachedTable] = {}

    def use(self, storage: Mapping[str, StoreAccess]) -> None:
        """Connect to them from now on with the settings of a target."""
        if storage != self._storage:
            self._storage, self.disks, self.tables = storage, {}, {}

    def disk(self, uri: str) -> Disk:
        """Return the disk of the bucket of a location."""
        bucket, _ = bucket_and_key(uri)
        if bucket not in self.disks:
            self.disks[bucket] = open_bucket(bucket, access_to(self._storage, uri))
        return self.disks[bucket]

    def forget(self, uri: str) -> None:
        """Discard what is known of the tables at and below a location."""
        below = f"{same_place(uri)}/"
        for each in [e for e in self.tables if f"{same_place(e)}/".startswith(below)]:
            self.tables.pop(each, None)

    def options(self, uri: str) -> dict[str, str]:
        """Return the options with which `deltalake` opens the bucket of a location."""
        return table_options(bucket_and_key(uri)[0], access_to(self._storage, uri))


def open_bucket(bucket: str, access: StoreAccess) -> Disk:
    """Return the disk of a bucket; sends no request yet."""
    try:
        from obstore.store import S3Store
    except ImportError as error:
        raise EnvironmentMissingError(
            "storage-missing",
            "obstore is not installed, and reading s3:// needs it",
            hint=f"install it with: {install_hint('storage')}",
        ) from error
    from penstock.engine.disk.objects import ObjectDisk

    seconds = access.timeout
    client = {"allow_http": access.allow_http, "timeout": seconds, "connect_timeout": seconds}
    config = {
        **_address(bucket, access),
        **access.credentials,
        "region": region_of(access),
        "virtual_hosted_style_request": not access.path_style,
    }
    store = S3Store(
        bucket,
        config=cast("S3Config", config),
        client_options=cast("ClientConfig", client),
        retry_config={"max_retries": access.retries, "retry_timeout": seconds},
    )
    return ObjectDisk(store, access)


def region_of(access: StoreAccess) -> str:
    """Return the region of a store, by default the environment's."""
    named = (os.environ.get(name, "") for name in ("AWS_REGION", "AWS_DEFAULT_REGION"))
    return access.region or next(filter(None, named), "us-east-1")


def _address(bucket: str, access: StoreAccess) -> dict[str, str]:
    """Return the endpoint, with the bucket in its host name if the store expects it there."""
    endpoint = access.endpoint.rstrip("/")
    if endpoint and not access.path_style:
        parts = urlsplit(endpoint)
        endpoint = f"{parts.scheme}://{bucket}.{parts.netloc}"
    return {"endpoint": endpoint} if endpoint else {}


def table_options(bucket: str, access: StoreAccess) -> dict[str, str]:
    """Return the same settings in the words of `deltalake`."""
    seconds = f"{access.timeout.total_seconds():g}s"
    address = {f"aws_{key}": value for key, value in _address(bucket, access).items()}
    return {
        **address,
        **{f"aws_{key}": value for key, value in access.credentials.items()},
        "aws_region": region_of(access),
        "aws_virtual_hosted_style_request": str(not access.path_style).lower(),
        "allow_http": str(access.allow_http).lower(),
        "timeout": seconds,
        "connect_timeout": seconds,
        "max_retries": str(access.retries),
        "retry_timeout": seconds,
    }


BUCKETS = Buckets()


def table_options_at(uri: str) -> dict[str, str] | None:
    """Return the options with which `deltalake` opens a table; None for a local one."""
    return BUCKETS.options(uri) if is_s3(uri) else None
