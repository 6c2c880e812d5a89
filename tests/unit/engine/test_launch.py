"""What Spark is started with: jars of one version, an archive where it fits, the user's options."""

import dataclasses
from pathlib import Path

import pytest

from penstock.core.project import SparkSettings
from penstock.engine import java
from penstock.engine.java import Java, archive_path
from penstock.engine.launch import (
    JvmParts,
    LaunchSettings,
    java_options,
    properties_text,
    secret_confs,
    secret_options,
    spark_confs,
)

FOLDER = Path("/started")
LOG4J = FOLDER / "log4j2.properties"


@pytest.fixture
def parts(tmp_path):
    archive = tmp_path / "session.jsa"
    archive.touch()
    return JvmParts(("/ivy/a.jar", "/ivy/b.jar"), FOLDER, archive)


def settings(master="local[2]", **conf):
    dotted = {key.replace("__", "."): value for key, value in conf.items()}
    return LaunchSettings(SparkSettings(master, "3g", dotted), "/w", Path("/logs/run.log"))


def options(given, parts):
    return java_options(given, parts).split()


def test_a_small_local_session_gets_the_serial_collector_and_the_archive(parts):
    assert options(settings(), parts) == [
        f"-Dlog4j2.configurationFile=file:{LOG4J}",
        "-XX:ReservedCodeCacheSize=256m",
        "-Djava.net.preferIPv4Stack=true",
        "-XX:+UseSerialGC",
        f"-XX:SharedArchiveFile={parts.archive}",
    ]


def test_with_more_cores_the_jvm_chooses_its_collector(parts):
    assert "-XX:+UseSerialGC" not in options(settings("local[8]"), parts)


def test_an_archive_that_was_never_made_is_not_asked_for(parts):
    without = dataclasses.replace(parts, archive=Path("/nowhere.jsa"))

    assert not any("SharedArchive" in each for each in options(settings(), without))


def test_the_users_options_come_last_and_their_collector_stands_alone(parts):
    given = settings(spark__driver__extraJavaOptions="-XX:+UseG1GC -XX:TieredStopAtLevel=1")

    found = options(given, parts)

    assert found[-2:] == ["-XX:+UseG1GC", "-XX:TieredStopAtLevel=1"]
    assert "-XX:+UseSerialGC" not in found


def test_room_for_compiled_code_is_there_whatever_else_the_user_sets(parts):
    given = settings(spark__driver__extraJavaOptions="-XX:TieredStopAtLevel=1 -Dmine=1")

    assert "-XX:ReservedCodeCacheSize=256m" in options(given, parts)


@pytest.mark.parametrize("key", ["extraJavaOptions", "defaultJavaOptions"])
def test_room_that_the_user_sets_stands_alone(parts, key):
    given = settings(**{f"spark__driver__{key}": "-XX:ReservedCodeCacheSize=1g"})

    assert "-XX:ReservedCodeCacheSize=256m" not in options(given, parts)


def test_room_that_the_environment_sets_for_every_jvm_stands_alone(parts):
    outside = dataclasses.replace(parts, outside="-Xint -XX:ReservedCodeCacheSize=1g")

    assert not any("ReservedCodeCacheSize" in each for each in options(settings(), outside))


def test_both_compilers_are_on_unless_the_user_says_otherwise(parts):
    assert not any("Tiered" in each for each in options(settings(), parts))


def test_a_class_path_of_the_user_is_added_and_leaves_the_archive_out(parts):
    given = settings(spark__driver__extraClassPath="/mine.jar")

    confs = spark_confs(given, parts)

    assert confs["spark.driver.extraClassPath"] == "/ivy/a.jar:/ivy/b.jar:/mine.jar"
    assert "SharedArchiveFile" not in confs["spark.driver.extraJavaOptions"]


def test_a_cluster_is_sent_the_jars_beside_the_users(parts):
    confs = spark_confs(settings("spark://head:7077", spark__jars="/mine.jar"), parts)

    assert confs["spark.jars"] == "/ivy/a.jar,/ivy/b.jar,/mine.jar"
    assert "spark.driver.extraClassPath" not in confs
    assert confs["spark.driver.extraJavaOptions"] == (
        f"-Dlog4j2.configurationFile=file:{LOG4J} -XX:ReservedCodeCacheSize=256m"
    )


def test_what_delta_needs_cannot_be_configured_away(parts):
    confs = spark_confs(settings(spark__sql__extensions="x.Y", spark__ui__enabled="true"), parts)

    assert confs["spark.sql.extensions"] == "io.delta.sql.DeltaSparkSessionExtension"
    assert confs["spark.ui.enabled"] == "true"


def test_options_of_java_that_look_secret_stand_in_a_file_and_not_on_the_command_line(parts):
    said = '-Dstore.password="a b" -Dseen=1'
    given = settings(spark__driver__extraJavaOptions=said)

    found = spark_confs(given, parts)["spark.driver.extraJavaOptions"]

    assert found.endswith(f"@{FOLDER}/java.options -Dseen=1")
    assert secret_options(given) == ["-Dstore.password=a b"]
    assert secret_options(settings(spark__driver__extraJavaOptions="-Dseen=1")) == []


def test_secret_settings_are_read_of_a_file(parts, secret):
    given = settings(my__api_key="abc", my__url="x://u:p@h", said=secret, seen="1")

    hidden = secret_confs(spark_confs(given, parts))

    assert hidden == {"my.api_key": "abc", "my.url": "x://u:p@h", "said": "open-sesame"}
    assert properties_text(hidden) == ("my.api_key=abc\nmy.url=x\\://u\\:p@h\nsaid=open-sesame\n")


@pytest.fixture
def ivy(tmp_path, monkeypatch):
    monkeypatch.setattr(java, "spark_versions", lambda: ("4.2.0", "4.4.0"))
    folder = tmp_path / "jars"
    folder.mkdir()
    for name in (
        *("io.delta_delta-spark_4.2_2.13-4.4.0", "io.delta_delta-storage-4.4.0"),
        *("io.delta_delta-spark_4.1_2.13-4.3.0", "io.delta_delta-storage-4.3.0"),
        *("io.unitycatalog_unitycatalog-client-0.6.0", "org.slf4j_slf4j-api-2.0.1"),
        "io.unitycatalog_unitycatalog-client-0.10.0",
    ):
        (folder / f"{name}.jar").touch()
    return tmp_path


def test_jars_of_other_versions_in_the_cache_are_left_there(ivy):
    assert [Path(jar).name for jar in java.cached_jars(ivy)] == [
        "io.delta_delta-spark_4.2_2.13-4.4.0.jar",
        "io.delta_delta-storage-4.4.0.jar",
        "io.unitycatalog_unitycatalog-client-0.10.0.jar",
    ]


def test_half_of_the_jars_is_none(ivy):
    (ivy / "jars" / "io.delta_delta-storage-4.4.0.jar").unlink()

    assert java.cached_jars(ivy) == ()


def test_an_archive_belongs_to_one_java_and_one_set_of_jars():
    one = archive_path(Java("java", 17, "17.0.1"), ("a.jar",), {"XDG_CACHE_HOME": "/c"})

    assert one.parent == Path("/c/penstock")
    assert one != archive_path(Java("java", 17, "17.0.2"), ("a.jar",), {"XDG_CACHE_HOME": "/c"})
    assert one != archive_path(Java("java", 17, "17.0.1"), ("b.jar",), {"XDG_CACHE_HOME": "/c"})


def test_the_cache_is_the_users():
    assert archive_path(Java("java", 17), (), {}).parent == Path.home() / ".cache" / "penstock"
