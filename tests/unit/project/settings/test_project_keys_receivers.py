"""Who receives events of runs, in penstock.yml."""

import pytest

from penstock.core.masking import mask
from penstock.core.project import Receivers

HOOK = "https://chat.example.com/services/T00/hunter2"


def test_a_target_wins_over_the_project(load):
    text = """\
name: shop
openlineage: {namespace: all, transport: {type: file, log_file_path: ol.jsonl}}
on_failure: {webhook: "{{ env_var('HOOK') }}"}
targets:
  dev: {}
  prod:
    openlineage:
      transport:
        type: http
        url: http://lineage:5000
        auth: {type: api_key, apiKey: secret-of-lineage}
        custom_headers: {Authorization: Basic-abcdef}
"""
    environ = {"HOOK": HOOK}

    dev = load({"penstock.yml": text}, environ=environ)
    prod = load({"penstock.yml": text}, environ=environ, target="prod")

    assert dev.receivers == Receivers(
        openlineage=True,
        namespace="all",
        transport={"type": "file", "log_file_path": f"{dev.root}/ol.jsonl", "append": True},
        webhook=HOOK,
    )
    assert prod.receivers == Receivers(
        openlineage=True,
        transport={
            "type": "http",
            "url": "http://lineage:5000",
            "auth": {"type": "api_key", "apiKey": "secret-of-lineage"},
            "custom_headers": {"Authorization": "Basic-abcdef"},
        },
        webhook=HOOK,
    )
    assert "hunter2" not in repr(prod)
    said = f"{HOOK} /services/T00/hunter2 secret-of-lineage Basic-abcdef api_key"
    assert mask(said) == "*** *** *** *** api_key"


def test_without_the_keys_there_are_no_receivers_and_an_empty_webhook_is_none(load):
    empty = "name: shop\non_failure: {webhook: \"{{ env_var('HOOK', '') }}\"}\n"

    assert load({"penstock.yml": "name: shop\n"}).receivers == Receivers()
    assert load({"penstock.yml": empty}).receivers == Receivers()


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        (
            "openlineage: {transport: {type: http}}",
            "penstock.yml:2:33: error: missing-key: openlineage.transport has type http and no url",
        ),
        (
            "openlineage: {transport: {type: file}}",
            (
                "penstock.yml:2:33: error: missing-key: openlineage.transport has type file and no "
                "log_file_path"
            ),
        ),
        (
            "openlineage: {transport: {type: kafka}}",
            "openlineage.transport.type is 'kafka'; it must be one of http, file",
        ),
        (
            "openlineage: {transport: {type: http, url: 'lineage:5000'}}",
            "it must be a URL such as https://lineage.example.com",
        ),
        (
            "on_failure: {webhook: 'chat.example.com/services/hunter2'}",
            "on_failure.webhook is not a URL that begins with http:// or https://",
        ),
        ("on_failure: 'http://x'", "on_failure is 'http://x'; it must be a mapping"),
        ("openlineage: {transports: {}}", "unknown-key"),
    ],
)
def test_a_receiver_that_cannot_be_meant_is_a_finding(findings, entry, said):
    found = findings({"penstock.yml": f"name: shop\n{entry}\n"})

    assert any(said in each for each in found), found
    assert "hunter2" not in str(found)
