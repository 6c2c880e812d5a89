"""How a target says that object stores are reached."""

import datetime as dt

import pytest

from penstock.core.findings import Location
from penstock.core.masking import mask
from penstock.core.storage import StoreAccess, access_to

PROJECT = "name: shop\ntargets:\n  prod:\n    storage:\n"
KEYS = "access_key_id: AKIDEXAMPLE, secret_access_key: \"{{ env_var('KEY') }}\""


def test_a_prefix_has_all_its_settings_and_its_place(load):
    entry = (
        f"      s3://lake: {{endpoint: 'http://127.0.0.1:9000', region: eu, {KEYS}, "
        "session_token: t-0123456789, allow_http: true, path_style: false, single_writer: true, "
        "timeout: 2s, retries: 3}\n"
    )

    project = load({"penstock.yml": PROJECT + entry}, environ={"KEY": "hunter2hunter2"})

    assert project.target.storage == {
        "s3://lake": StoreAccess(
            endpoint="http://127.0.0.1:9000",
            region="eu",
            access_key_id="AKIDEXAMPLE",
            secret_access_key="hunter2hunter2",  # noqa: S106  made up
            session_token="t-0123456789",  # noqa: S106  the same
            allow_http=True,
            path_style=False,
            single_writer=True,
            timeout=dt.timedelta(seconds=2),
            retries=3,
            where=Location("penstock.yml", 5, 18),
        )
    }
    assert mask("AKIDEXAMPLE hunter2hunter2 t-0123456789") == "*** *** ***"
    assert "hunter2" not in repr(project.target)


def test_the_longest_prefix_of_a_location_wins_whichever_way_it_is_written(load):
    entries = "      s3a://: {region: a}\n      s3a://lake/: {region: b}\n"

    storage = load({"penstock.yml": PROJECT + entries}).target.storage

    places = ("s3://lake/raw", "s3a://lake", "S3://lake2/raw")
    assert [access_to(storage, each).region for each in places] == ["b", "b", "a"]
    assert access_to({}, "s3://lake/raw") == StoreAccess()


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        (
            "gs://lake: {}",
            (
                "5:7: error: bad-value: targets.prod.storage has the prefix 'gs://lake'; it "
                "must be s3://, or s3:// and the name of a bucket"
            ),
        ),
        (
            "s3://lake/raw: {}",
            (
                "5:7: error: bad-value: targets.prod.storage has the prefix 's3://lake/raw'; it "
                "must be s3://, or s3:// and the name of a bucket"
            ),
        ),
        (
            "s3://me:hunter2@lake: {}",
            (
                "5:7: error: bad-value: targets.prod.storage has the prefix 's3://***@lake'; it "
                "must be s3://, or s3:// and the name of a bucket"
            ),
        ),
        (
            "s3://lake: {access_key_id: AKID}",
            (
                "5:34: error: missing-key: targets.prod.storage.s3://lake.access_key_id is alone: "
                "access_key_id and secret_access_key belong together"
            ),
        ),
        (
            "s3://lake: {session_token: hunter2}",
            (
                "5:34: error: missing-key: targets.prod.storage.s3://lake.session_token is alone: "
                "access_key_id and secret_access_key belong together"
            ),
        ),
        (
            "s3://lake: {endpoint: 'http://127.0.0.1:9000'}",
            "5:29: error: bad-value: targets.prod.storage.s3://lake.endpoint is not encrypted",
        ),
        (
            "s3://lake: {endpoint: 'https://me:hunter2@store'}",
            (
                "5:29: error: bad-value: targets.prod.storage.s3://lake.endpoint is "
                "'https://***@store'; it must be a URL such as https://s3.example.com"
            ),
        ),
        (
            "s3://lake: {access_key_id: AKID, secret_access_key: [hunter2]}",
            (
                "5:59: error: bad-value: targets.prod.storage.s3://lake.secret_access_key is a "
                "list; it must be a text"
            ),
        ),
        (
            "s3://lake: {key: hunter2}",
            "5:19: error: unknown-key: unknown key 'key'",
        ),
    ],
)
def test_what_is_wrong_is_a_finding_at_its_line_without_a_credential(findings, entry, said):
    found = findings({"penstock.yml": f"{PROJECT}      {entry}\n"}, hints=False)

    assert found == [f"penstock.yml:{said}"]


def test_a_bucket_is_written_once(findings):
    entries = "      s3://lake: {}\n      s3a://lake/: {}\n"

    assert findings({"penstock.yml": PROJECT + entries}) == [
        (
            "penstock.yml:6:7: error: alias-conflict: targets.prod.storage has s3://lake twice: "
            "s3 and s3a are the same place"
        )
    ]
