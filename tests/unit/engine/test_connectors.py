"""What Spark is told of buckets, and which jars it gets for them."""

from dataclasses import replace
from pathlib import Path

import pytest

from penstock.core.errors import EnvironmentMissingError, TableError
from penstock.core.findings import Location
from penstock.core.project import SparkSettings
from penstock.core.storage import StoreAccess
from penstock.engine import connectors, launch
from penstock.engine.connectors import (
    LOG_STORE,
    bucket_jars,
    bucket_settings,
    cached_connectors,
    overridden,
    require_log_store,
    require_safe_store,
    session_settings,
)
from penstock.engine.launch import JvmParts, LaunchSettings, secret_confs, spark_confs
from penstock.engine.spark_errors import explained

WHERE = Location("penstock.yml", 7, 9)
LAKE = StoreAccess(
    "http://127.0.0.1:9000", "eu", "AKID", "hunter2", "token-1", allow_http=True, where=WHERE
)
PARTS = JvmParts(("/ivy/a.jar",), Path("/t"), Path("/nowhere.jsa"))


def test_a_bucket_has_its_own_settings_and_both_schemes_one_log_store():
    assert bucket_settings({"s3://lake": LAKE}) == {
        "spark.hadoop.fs.s3.impl": "org.apache.hadoop.fs.s3a.S3AFileSystem",
        "spark.hadoop.fs.AbstractFileSystem.s3.impl": "org.apache.hadoop.fs.s3a.S3A",
        "spark.hadoop.fs.AbstractFileSystem.s3a.impl": "org.apache.hadoop.fs.s3a.S3A",
        "spark.delta.logStore.s3.impl": LOG_STORE,
        "spark.delta.logStore.s3a.impl": LOG_STORE,
        "spark.hadoop.fs.s3a.bucket.lake.path.style.access": "true",
        "spark.hadoop.fs.s3a.bucket.lake.connection.timeout": "30s",
        "spark.hadoop.fs.s3a.bucket.lake.attempts.maximum": "10",
        "spark.hadoop.fs.s3a.bucket.lake.retry.limit": "10",
        "spark.hadoop.fs.s3a.bucket.lake.access.key": "AKID",
        "spark.hadoop.fs.s3a.bucket.lake.secret.key": "hunter2",
        "spark.hadoop.fs.s3a.bucket.lake.session.token": "token-1",
        "spark.hadoop.fs.s3a.bucket.lake.aws.credentials.provider": (
            "org.apache.hadoop.fs.s3a.TemporaryAWSCredentialsProvider"
        ),
        "spark.hadoop.fs.s3a.bucket.lake.endpoint": "http://127.0.0.1:9000",
        "spark.hadoop.fs.s3a.bucket.lake.connection.ssl.enabled": "false",
        "spark.hadoop.fs.s3a.bucket.lake.endpoint.region": "eu",
    }


def test_settings_of_all_buckets_and_no_credentials_where_none_are_written():
    found = bucket_settings({})

    assert found["spark.hadoop.fs.s3a.path.style.access"] == "true"
    assert [key for key in found if "key" in key or "endpoint" in key] == []


def test_a_bucket_takes_nothing_from_the_settings_for_all():
    found = bucket_settings({"s3://": LAKE, "s3://other": StoreAccess()})

    begin = "spark.hadoop.fs.s3a.bucket.other."
    assert (found[f"{begin}endpoint"], found[f"{begin}connection.ssl.enabled"]) == ("", "true")
    assert found[f"{begin}aws.credentials.provider"].startswith(
        "software.amazon.awssdk.auth.credentials.EnvironmentVariableCredentialsProvider,"
    )


def test_credentials_are_on_no_command_line():
    settings = LaunchSettings(SparkSettings(), "s3://lake/w", Path("log"), storage={"s3://": LAKE})

    confs = spark_confs(settings, PARTS)

    assert {"AKID", "hunter2", "token-1"} <= set(secret_confs(confs).values())


def test_a_project_without_buckets_has_none_of_it():
    settings = LaunchSettings(SparkSettings(), "/w", Path("log"))

    assert [key for key in spark_confs(settings, PARTS) if "s3" in key] == []


def test_what_the_user_configures_for_spark_wins_and_is_named():
    mine = {
        "spark.hadoop.fs.s3a.endpoint": "https://other",
        "spark.hadoop.fs.s3a.retry.limit": "10",
        "spark.delta.logStore.s3.impl": "my.Store",
    }
    settings = LaunchSettings(
        SparkSettings(conf=mine), "s3://lake/w", Path("log"), storage={"s3://lake": LAKE}
    )

    confs = spark_confs(settings, PARTS)

    assert confs["spark.hadoop.fs.s3a.endpoint"] == "https://other"
    assert "spark.hadoop.fs.s3a.bucket.lake.endpoint" not in confs
    assert confs["spark.delta.logStore.s3.impl"] == "my.Store"
    assert overridden({"s3://lake": LAKE}, mine) == [
        "spark.delta.logStore.s3.impl",
        "spark.hadoop.fs.s3a.endpoint",
    ]


@pytest.fixture
def ivy(tmp_path):
    folder = tmp_path / "jars"
    folder.mkdir()
    names = ("s3", "sts", "apache-client", "s3-transfer-manager", "sdk-core", "auth", "bundle")
    for name in (
        "org.apache.hadoop_hadoop-aws-3.5.0",
        "org.apache.hadoop_hadoop-aws-3.4.0",
        "software.amazon.awssdk_s3-2.30.0",
        *(f"software.amazon.awssdk_{each}-2.35.4" for each in names),
        "org.reactivestreams_reactive-streams-1.0.4",
        "org.slf4j_slf4j-api-2.0.1",
    ):
        (folder / f"{name}.jar").touch()
    return tmp_path


def test_the_jars_are_those_of_one_version_without_the_whole_of_the_sdk(ivy):
    assert [Path(jar).name for jar in cached_connectors(ivy)] == [
        "org.apache.hadoop_hadoop-aws-3.5.0.jar",
        "org.reactivestreams_reactive-streams-1.0.4.jar",
        "software.amazon.awssdk_apache-client-2.35.4.jar",
        "software.amazon.awssdk_auth-2.35.4.jar",
        "software.amazon.awssdk_s3-2.35.4.jar",
        "software.amazon.awssdk_s3-transfer-manager-2.35.4.jar",
        "software.amazon.awssdk_sdk-core-2.35.4.jar",
        "software.amazon.awssdk_sts-2.35.4.jar",
    ]


def test_half_of_the_jars_is_none(ivy):
    (ivy / "jars" / "software.amazon.awssdk_auth-2.35.4.jar").unlink()

    assert cached_connectors(ivy) == ()


def test_beside_a_connector_of_the_users_there_is_only_our_jar(tmp_path, monkeypatch):
    jar = tmp_path / "penstock-delta-storage.jar"
    jar.touch()
    monkeypatch.setattr(connectors, "_LOG_STORE_JAR", jar)
    monkeypatch.setattr(connectors, "ensure_connectors", lambda: ("/ivy/hadoop-aws-3.5.0.jar",))

    assert bucket_jars({}) == ("/ivy/hadoop-aws-3.5.0.jar", str(jar))
    assert bucket_jars({"spark.jars": "/opt/hadoop-aws-3.5.0.jar"}) == (str(jar),)


def test_an_installation_without_our_jar_says_so(monkeypatch):
    monkeypatch.setattr(connectors, "_LOG_STORE_JAR", Path("/nowhere/a.jar"))

    with pytest.raises(EnvironmentMissingError, match=r"a\.jar is missing, without which"):
        bucket_jars({})


def test_a_session_of_others_must_keep_the_log_safely():
    ours = dict.fromkeys(("spark.delta.logStore.s3.impl", "spark.delta.logStore.s3a.impl"), "x.Y")

    require_log_store(ours, {})
    require_log_store({}, {"DATABRICKS_RUNTIME_VERSION": "17"})
    with pytest.raises(TableError, match="commits to S3 with Delta's own"):
        require_log_store({"spark.delta.logStore.s3.impl": "x.Y"}, {})


def test_a_store_that_overwrites_is_refused_and_nothing_of_the_trial_is_left(object_server, bucket):
    unsafe = f"s3://{object_server.bucket('unsafe')}/w"
    storage = {"s3://": object_server.access}

    require_safe_store(f"{bucket}/w", storage)
    with pytest.raises(TableError, match=f"the store of {unsafe} lets two writers"):
        require_safe_store(unsafe, storage)
    require_safe_store(unsafe, {unsafe[:-2]: StoreAccess(single_writer=True)})

    asked = [each for each in object_server.requests() if "unsafe" in each]
    assert [each.partition("?")[0].partition(" ")[0] for each in asked[1:]] == [
        *("PUT", "PUT", "GET", "POST"),
    ]


def test_a_session_that_already_runs_gets_the_same_settings_under_the_names_of_hadoop():
    found = session_settings({"s3://lake": LAKE})

    assert found["fs.s3a.bucket.lake.endpoint"] == "http://127.0.0.1:9000"
    assert [key for key in found if key.startswith("spark.")] == []
    assert session_settings({}) == {}


def test_without_the_connector_only_what_has_tables_in_buckets_does_not_start(monkeypatch):
    def unreachable(conf):
        raise EnvironmentMissingError("jars-unreachable", "no network")

    monkeypatch.setattr(launch, "bucket_jars", unreachable)
    reads = LaunchSettings(SparkSettings(), "/w", Path("/logs/run.log"), storage={})

    assert reads.bucket_jars == ()
    with pytest.raises(EnvironmentMissingError, match="no network"):
        _ = replace(reads, written=("s3://lake/prod",)).bucket_jars


@pytest.mark.parametrize(
    "text",
    [
        "java.lang.ClassNotFoundException: Class org.apache.hadoop.fs.s3a.S3AFileSystem not found",
        'org.apache.hadoop.fs.UnsupportedFileSystemException: No FileSystem for scheme "s3a"',
    ],
)
def test_a_spark_without_a_connector_says_how_to_get_one(text):
    found = explained(RuntimeError(text))

    assert (found.code, found.sentence) == (
        "connector-missing",
        "this Spark has no connector for s3://",
    )
    assert "penstock doctor --fix" in found.hint
