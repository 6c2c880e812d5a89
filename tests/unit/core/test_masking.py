from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.masking import is_secret_key, mask, mask_value


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("postgresql+psycopg://me:hunter2@db:5432/x", "postgresql+psycopg://me:***@db:5432/x"),
        ("s3a://key:se/cr@et@bucket/x", "s3a://key:***@bucket/x"),
        ("no secret at http://head:8080/path", "no secret at http://head:8080/path"),
        ("host=a password=hunter2 port=1", "host=a password=*** port=1"),
        ("{'password': 'hunter2'}", "{'password': '***'}"),
        ('{"api_key": "x y"}', '{"api_key": "***"}'),
        ("fs.s3a.secret.key=abc", "fs.s3a.secret.key=***"),
        ('{"token": 7}', '{"token": 7}'),
        ("select 1", "select 1"),
    ],
)
def test_passwords_are_hidden_and_the_rest_stays(text, shown):
    assert mask(text) == shown


@pytest.mark.parametrize(
    "key",
    [
        *("password", "PGPASSWORD", "fs.s3a.secret.key", "api-key", "accessToken"),
        *("apikey", "access_key", "connection_string", "connectionString", "sas", "blob_SAS"),
    ],
)
def test_a_secret_is_known_by_its_key(key):
    assert is_secret_key(key)
    assert mask_value(key, "anything at all") == "***"


def test_other_values_are_shown():
    assert mask_value("master", "local[2]") == "local[2]"
    assert mask_value("disaster", "fire") == "fire"


@given(
    st.text(
        st.characters(
            exclude_characters="\"' \t\n\r\x0b\x0c\x1c\x1d\x1e\x1f\x85\xa0",
            exclude_categories=("Z", "C"),
        ),
        min_size=4,
    )
)
def test_no_password_of_a_url_survives(password):
    assert mask(f"cannot open postgresql://me:{password}@db/x: refused") == (
        "cannot open postgresql://me:***@db/x: refused"
    )
