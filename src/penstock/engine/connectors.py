"""What Spark needs for S3 buckets: jars, Hadoop settings, and a safe store for Delta's log."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from pathlib import Path

from penstock.core.errors import EnvironmentMissingError, TableError
from penstock.core.storage import StoreAccess, access_to, bucket_and_key
from penstock.engine.disk.buckets import region_of
from penstock.engine.disk.disks import disk_at
from penstock.engine.java import fetch, ivy_home, unreachable_error

HADOOP, SDK = "3.5.0", "2.35.4"
"""The Hadoop of pyspark 4.2, and the AWS SDK that its connector was built with."""
SIZE = "13 MB"
LOG_STORE = "io.penstock.storage.ConditionalLogStore"
LOG_STORES = ("spark.delta.logStore.s3.impl", "spark.delta.logStore.s3a.impl")
_LOG_STORE_JAR = Path(__file__).with_name("penstock-delta-storage.jar")
_ASKED = ("s3", "sts", "apache-client", "s3-transfer-manager")
COORDINATES = (
    f"org.apache.hadoop:hadoop-aws:{HADOOP}",
    *(f"software.amazon.awssdk:{name}:{SDK}" for name in _ASKED),
)
# The whole SDK is 659 MB. Spark ships the rest, or the connector works without it.
_EXCLUDED = (
    "software.amazon.awssdk:bundle",
    "software.amazon.awssdk:netty-nio-client",
    "org.wildfly.openssl:wildfly-openssl",
    "org.apache.httpcomponents:*",
    "commons-codec:commons-codec",
    "commons-logging:commons-logging",
    "org.slf4j:slf4j-api",
)
_LEFT_OUT = re.compile("_(bundle|netty-nio-client)-")
_NEEDED = (f"hadoop-aws-{HADOOP}", *(f"{name}-{SDK}" for name in (*_ASKED, "sdk-core", "auth")))
_OWN = re.compile(r"hadoop-aws|hadoop-cloud")
_JARS = ("spark.jars", "spark.jars.packages", "spark.driver.extraClassPath")
_S3A = "org.apache.hadoop.fs.s3a"
_FILES = {
    "spark.hadoop.fs.s3.impl": f"{_S3A}.S3AFileSystem",
    "spark.hadoop.fs.AbstractFileSystem.s3.impl": f"{_S3A}.S3A",
    "spark.hadoop.fs.AbstractFileSystem.s3a.impl": f"{_S3A}.S3A",
    **dict.fromkeys(LOG_STORES, LOG_STORE),
}
_GROUPS = (
    "org.apache.hadoop_hadoop-aws",
    "software.amazon.awssdk_*",
    "software.amazon.eventstream_*",
    "software.amazon.s3.analyticsaccelerator_*",
    "org.reactivestreams_*",
)


def cached_connectors(ivy: Path | None = None) -> tuple[str, ...]:
    """Return the jars of the connector that are in Ivy's cache, () unless all of them are."""
    folder = (ivy or ivy_home()) / "jars"
    versions = {"org.apache.hadoop_hadoop-aws": HADOOP, "software.amazon.awssdk_*": SDK}
    found = {
        str(jar)
        for group in _GROUPS
        for jar in folder.glob(f"{group}-{versions.get(group, '*')}.jar")
        if not _LEFT_OUT.search(jar.name)
    }
    whole = all(any(jar.endswith(f"_{name}.jar") for jar in found) for name in _NEEDED)
    return tuple(sorted(found)) if whole else ()


def ensure_connectors() -> tuple[str, ...]:
    """Return the jars of the connector; fetch them if needed, or raise `jars-unreachable`."""
    if not (jars := cached_connectors()):
        why = fetch(COORDINATES, _EXCLUDED)
        jars = cached_connectors()
        if why or not jars:
            raise unreachable_error(f"the S3 connector ({COORDINATES[0]})", why)
    return jars


def bucket_jars(conf: Mapping[str, str]) -> tuple[str, ...]:
    """Return the jars for buckets; only our own if the user names a connector."""
    if not _LOG_STORE_JAR.is_file():
        raise EnvironmentMissingError(
            "log-store-missing",
            f"{_LOG_STORE_JAR.name} is missing, without which commits to S3 are not safe",
            hint="install the package from its wheel, or run 'make setup' in a clone",
        )
    has_own = any(_OWN.search(conf.get(key, "")) for key in _JARS)
    return (*(() if has_own else ensure_connectors()), str(_LOG_STORE_JAR))


_NOTHING: Mapping[str, str] = {}


def bucket_settings(
    storage: Mapping[str, StoreAccess], conf: Mapping[str, str] = _NOTHING
) -> dict[str, str]:
    """Return Spark's settings for buckets; a setting of the user for all buckets wins.

    >>> settings = bucket_settings({"s3://lake": StoreAccess(endpoint="https://s3.example.com")})
    >>> settings["spark.hadoop.fs.s3a.bucket.lake.endpoint"]
    'https://s3.example.com'
    """
    found = dict(_FILES)
    for prefix, access in (storage or {"s3://": StoreAccess()}).items():
        bucket, _ = bucket_and_key(prefix)
        begin = f"spark.hadoop.fs.s3a.bucket.{bucket}." if bucket else "spark.hadoop.fs.s3a."
        # Hadoop fills gaps in a bucket's settings from those for all buckets; `storage` does not
        blank = _NOT_OF_OTHERS if bucket and "s3://" in storage else {}
        for key, value in (blank | _hadoop_settings(access)).items():
            if f"spark.hadoop.fs.s3a.{key}" not in conf:
                found[f"{begin}{key}"] = value
    return found


def session_settings(
    storage: Mapping[str, StoreAccess], conf: Mapping[str, str] = _NOTHING
) -> dict[str, str]:
    """Return the settings of `storage` for one session of a Spark that already runs.

    Sessions pass their settings to Hadoop under its own names. Empty without `storage`.
    """
    found = bucket_settings(storage, conf) if storage else {}
    begin = "spark.hadoop."
    return {key.removeprefix(begin): v for key, v in found.items() if key.startswith(begin)}


def overridden(storage: Mapping[str, StoreAccess], conf: Mapping[str, str]) -> list[str]:
    """Return the user's settings that differ from `storage` and win over it."""
    ours = bucket_settings(storage)
    others = {
        f"spark.hadoop.fs.s3a.{key}": value
        for access in storage.values()
        for key, value in _hadoop_settings(access).items()
    }
    return sorted(k for k, v in conf.items() if k in (both := others | ours) and both[k] != v)


_PROVIDER = "aws.credentials.provider"
_OF_ENVIRONMENT = (
    "software.amazon.awssdk.auth.credentials.EnvironmentVariableCredentialsProvider",
    f"{_S3A}.auth.IAMInstanceCredentialsProvider",
)
_NOT_OF_OTHERS = {
    "endpoint": "",
    "endpoint.region": "",
    "connection.ssl.enabled": "true",
    _PROVIDER: ",".join(_OF_ENVIRONMENT),
}


def _hadoop_settings(access: StoreAccess) -> dict[str, str]:
    found = {
        "path.style.access": str(access.path_style).lower(),
        "connection.timeout": f"{access.timeout.total_seconds():g}s",
        "attempts.maximum": str(access.retries),
        "retry.limit": str(access.retries),
    }
    keys = {
        "access_key_id": "access.key",
        "secret_access_key": "secret.key",
        "session_token": "session.token",
    }
    found |= {keys[name]: value for name, value in access.credentials.items()}
    if access.credentials:
        kind = "Temporary" if access.session_token else "Simple"
        found[_PROVIDER] = f"{_S3A}.{kind}AWSCredentialsProvider"
    if access.endpoint:
        is_open = access.endpoint.startswith("http://")
        found |= {
            "endpoint": access.endpoint,
            "connection.ssl.enabled": str(not is_open).lower(),
        }
    if access.endpoint or access.region:
        found["endpoint.region"] = region_of(access)
    return found


def require_safe_store(uri: str, storage: Mapping[str, StoreAccess]) -> None:
    """Raise `store-not-safe` if the store of a location lets two writers create one file.

    Takes a few requests and leaves nothing behind.
    """
    access = access_to(storage, uri)
    if access.single_writer or is_created_once(uri):
        return
    raise TableError(
        "store-not-safe",
        f"the store of {uri} lets two writers create the same file, so commits can be lost",
        where=access.where,
        hint="use a store with conditional writes; or set single_writer: true in storage, and "
        "never let two programs write one table",
    )


def is_created_once(uri: str) -> bool:
    """Return whether only one of two writers can create a file in a folder; tries it."""
    folder = f"{uri.rstrip('/')}/_penstock_probe/{secrets.token_hex(8)}"
    disk = disk_at(folder)
    try:
        return [disk.put_if_absent(f"{folder}/file", text) for text in (b"1", b"2")] == [
            True,
            False,
        ]
    finally:
        disk.drop(folder)


def require_log_store(conf: Mapping[str, str], environ: Mapping[str, str]) -> None:
    """Raise `store-not-safe` if the user's own session has no safe store for Delta's log."""
    named = all(conf.get(key) for key in LOG_STORES) or conf.get("spark.delta.logStore.class")
    if named or "DATABRICKS_RUNTIME_VERSION" in environ:
        return
    jar = str(_LOG_STORE_JAR)
    settings = "".join(f".config({key!r}, {LOG_STORE!r})" for key in LOG_STORES)
    raise TableError(
        "store-not-safe",
        "the Spark session commits to S3 with Delta's own log store, which can lose commits",
        hint=f"build it with .config('spark.jars', {jar!r}){settings}",
    )
