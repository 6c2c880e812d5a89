"""Object stores: which locations are in one, and how a target connects to it (its `storage`)."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.core.findings import Location

S3_SCHEMES = ("s3", "s3a")
"""The schemes of S3; a location is the same place under each of them."""


@dataclass(frozen=True, slots=True)
class StoreAccess:
    """How to connect to the buckets of a prefix."""

    endpoint: str = ""
    """The URL of the server, "" for AWS."""
    region: str = ""
    access_key_id: str = field(default="", repr=False)
    secret_access_key: str = field(default="", repr=False)
    session_token: str = field(default="", repr=False)
    """Credentials; without them the environment's own are used."""
    allow_http: bool = False
    path_style: bool = True
    """Whether the bucket is the first part of the URL's path, not of the host name."""
    single_writer: bool = False
    """Whether the user guarantees that no two programs write to one table at the same time."""
    timeout: dt.timedelta = dt.timedelta(seconds=30)
    retries: int = 10
    where: Location = Location("penstock.yml")

    @property
    def credentials(self) -> Mapping[str, str]:
        """The credentials that the block contains, by key."""
        named = {
            "access_key_id": self.access_key_id,
            "secret_access_key": self.secret_access_key,
            "session_token": self.session_token,
        }
        return {name: value for name, value in named.items() if value}


def scheme_of(uri: str) -> str:
    """Return the scheme of a location in lower case, "" for a path.

    >>> scheme_of("S3A://lake/raw"), scheme_of("file:/data"), scheme_of("../landing")
    ('s3a', 'file', '')
    """
    scheme, colon, rest = uri.partition(":")
    return scheme.lower() if colon and rest.startswith("/") else ""


def is_s3(uri: str) -> bool:
    """Return whether a location is in an S3 bucket."""
    return scheme_of(uri) in S3_SCHEMES


def bucket_and_key(uri: str) -> tuple[str, str]:
    """Return the bucket and the path in it of a location in an object store.

    >>> bucket_and_key("s3a://lake/raw//orders/")
    ('lake', 'raw/orders')
    """
    bucket, _, path = uri.partition("://")[2].partition("/")
    return bucket, "/".join(part for part in path.split("/") if part)


def same_place(uri: str) -> str:
    """Return a location in the one form that all its spellings share.

    >>> same_place("s3a://lake/raw/"), same_place("/data/raw/")
    ('s3://lake/raw', '/data/raw')
    """
    if not is_s3(uri):
        return uri.rstrip("/") or uri
    return "s3://" + "/".join(filter(None, bucket_and_key(uri)))


def access_to(storage: Mapping[str, StoreAccess], uri: str) -> StoreAccess:
    """Return how to connect to a location: the block of its bucket, else the one of all buckets.

    >>> accesses = {"s3://": StoreAccess(region="a"), "s3://lake": StoreAccess(region="b")}
    >>> [access_to(accesses, uri).region for uri in ("s3a://lake/raw", "s3://lake2/raw")]
    ['b', 'a']
    """
    bucket, _ = bucket_and_key(uri)
    return storage.get(f"s3://{bucket}") or storage.get("s3://") or StoreAccess()
