"""The buckets of a process: how each is reached, by `obstore` and by `deltalake`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, cast
from urllib.parse import urlsplit

from penstock.core.errors import EnvironmentMissingError, install_hint
from penstock.core.ports.engine import Disk
from penstock.core.storage import StoreAccess, access_to, bucket_and_key, is_s3

if TYPE_CHECKING:
    from obstore.store import S3Config


class Buckets:
    """The buckets of a process, each opened when it is first asked."""

    def __init__(self) -> None:
        """Reach all of them as the environment says."""
        self._storage: Mapping[str, StoreAccess] = {}
        self.disks: dict[str, Disk] = {}

    def use(self, storage: Mapping[str, StoreAccess]) -> None:
        """Reach them from now on as a target says."""
        if storage != self._storage:
            self._storage, self.disks = storage, {}

    def disk(self, uri: str) -> Disk:
        """Return the disk of the bucket of a location."""
        bucket, _ = bucket_and_key(uri)
        if bucket not in self.disks:
            self.disks[bucket] = open_bucket(bucket, access_to(self._storage, uri))
        return self.disks[bucket]

    def options(self, uri: str) -> dict[str, str]:
        """Return how `deltalake` reaches the bucket of a location."""
        return table_options(bucket_and_key(uri)[0], access_to(self._storage, uri))


def open_bucket(bucket: str, access: StoreAccess) -> Disk:
    """Return the disk of a bucket; nothing is asked of it yet."""
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
    config = {
        **_address(bucket, access),
        **access.credentials,
        "region": region_of(access),
        "virtual_hosted_style_request": not access.path_style,
    }
    store = S3Store(
        bucket,
        config=cast("S3Config", config),
        client_options={"allow_http": access.allow_http, "timeout": seconds},
        retry_config={"max_retries": access.retries, "retry_timeout": seconds},
    )
    return ObjectDisk(store, access)


def region_of(access: StoreAccess) -> str:
    """Return the region of a store: that of the environment where none is written."""
    named = (os.environ.get(name, "") for name in ("AWS_REGION", "AWS_DEFAULT_REGION"))
    return access.region or next(filter(None, named), "us-east-1")


def _address(bucket: str, access: StoreAccess) -> dict[str, str]:
    """Return the endpoint, with the bucket in the name of the host where it belongs there."""
    endpoint = access.endpoint.rstrip("/")
    if endpoint and not access.path_style:
        parts = urlsplit(endpoint)
        endpoint = f"{parts.scheme}://{bucket}.{parts.netloc}"
    return {"endpoint": endpoint} if endpoint else {}


def table_options(bucket: str, access: StoreAccess) -> dict[str, str]:
    """Return the same settings as `deltalake` has them."""
    seconds = f"{access.timeout.total_seconds():g}s"
    address = {f"aws_{key}": value for key, value in _address(bucket, access).items()}
    return {
        **address,
        **{f"aws_{key}": value for key, value in access.credentials.items()},
        "aws_region": region_of(access),
        "aws_virtual_hosted_style_request": str(not access.path_style).lower(),
        "allow_http": str(access.allow_http).lower(),
        "timeout": seconds,
        "max_retries": str(access.retries),
        "retry_timeout": seconds,
    }


BUCKETS = Buckets()


def table_options_at(uri: str) -> dict[str, str] | None:
    """Return how `deltalake` reaches a table."""
    return BUCKETS.options(uri) if is_s3(uri) else None
