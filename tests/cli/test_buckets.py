"""Projects with their warehouse or a source in a bucket, as far as no Spark is needed."""

import pytest

from fakes.object_store import KEY, SECRET

PROJECT = """\
name: shop
targets:
  dev:
    warehouse: {place}
    storage:
      s3://:
        endpoint: {endpoint}
        access_key_id: {key}
        secret_access_key: {secret}
        allow_http: true
        timeout: 1s
        retries: 1
"""
WHERE = "penstock.yml:7:9"


@pytest.fixture
def shop(services, object_server, monkeypatch):
    """Write a project with a model, whose warehouse lies in a bucket."""

    def written(place, endpoint=object_server.endpoint):
        text = PROJECT.format(place=place, endpoint=endpoint, key=KEY, secret=SECRET)
        root = services(**{"penstock.yml": text})
        object_server.requests()
        return root

    return written


def test_plan_and_status_read_a_bucket_without_java(shop, call, object_server, monkeypatch):
    shop(f"s3://{object_server.bucket()}/w")
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("JAVA_HOME", raising=False)

    planned, status = call("plan"), call("status")

    assert (planned.code, status.code) == (0, 0), planned.err + status.err
    assert "users_clean" in planned.out
    assert "users_clean: never_run" in status.out
    assert KEY not in planned.out + status.out
    assert SECRET not in planned.out + status.out


def test_a_store_that_two_writers_can_overwrite_is_refused(shop, call, object_server):
    place = f"s3://{object_server.bucket('unsafe')}/w"
    shop(place)

    ran, examined = call("run"), call("doctor")

    sentence = f"the store of {place} lets two writers create the same file, so commits can be lost"
    assert ran.code != 0
    assert f"{WHERE}: store-not-safe: {sentence}" in ran.err
    assert sentence in examined.out
    written = [each for each in object_server.requests() if each.startswith("PUT")]
    assert [each for each in written if "_penstock_probe" not in each] == []


@pytest.mark.parametrize(
    ("bucket", "said"),
    [
        ("refused-1", "store-refused: the store refuses access to s3://refused-1/w"),
        ("gone", "bucket-missing: the bucket of s3://gone/w"),
    ],
)
def test_what_a_store_refuses_is_one_sentence_without_a_credential(shop, call, bucket, said):
    shop(f"s3://{bucket}/w")

    for words in (["plan"], ["run"], ["status"]):
        answer = call(*words)

        place = "" if words == ["status"] else f"{WHERE}: "
        assert f"{place}{said}" in answer.out + answer.err
        assert KEY not in answer.out + answer.err
        assert SECRET not in answer.out + answer.err


def test_a_store_that_is_not_there_is_one_sentence(shop, call):
    shop("s3://lake/w", endpoint="http://127.0.0.1:9")

    answer = call("plan")

    assert answer.code != 0
    assert f"{WHERE}: store-unreachable: the store of s3://lake/w" in answer.out
