from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.masking import (
    SecretValues,
    is_secret_key,
    mask,
    mask_uris,
    mask_value,
    masked,
    without_secrets,
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("postgresql+psycopg://me:hunter2@db:5432/x", "postgresql+psycopg://***@db:5432/x"),
        ("s3a://key:se/cr@et@bucket/x", "s3a://***@bucket/x"),
        ("postgresql://:hunter2@db", "postgresql://***@db"),
        ("https://me@host/x", "https://***@host/x"),
        ("abfss://u:p@account/x", "abfss://***@account/x"),
        ("jdbc:oracle:thin:scott/tiger@//db:1521/x", "jdbc:oracle:thin:***@//db:1521/x"),
        ("https://a.b/c?sv=1&sig=ab%2Fc&x=1", "https://a.b/c?sv=1&sig=***&x=1"),
        ("see 'x://u:p@h' or me@here", "see 'x://***@h' or me@here"),
        ("no secret at http://head:8080/path", "no secret at http://head:8080/path"),
        ("abfss://box@account.dfs.core.windows.net", "abfss://box@account.dfs.core.windows.net"),
        ("s3://bucket/key@v1", "s3://bucket/key@v1"),
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
    assert mask(shown) == shown


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


@pytest.mark.parametrize(
    "text",
    ["password " + "a" * 1_000_000, "x://" + "a:" * 500_000, "token" * 2_000, "a-" * 500_000],
)
def test_a_long_text_is_masked_at_once(text):
    began = time.process_time()

    assert mask(text) == text
    assert time.process_time() - began < 5


def test_of_a_text_that_names_things_only_uris_are_masked():
    assert mask_uris("tokens: current at x://u:p@h") == "tokens: current at x://***@h"


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
        "cannot open postgresql://***@db/x: refused"
    )


def hidden(*values):
    secrets = SecretValues()
    secrets.add(values)
    return secrets.hide


@pytest.mark.parametrize(
    "text",
    [
        "at p@ss 'wörd'\\",
        "SELECT 'P@SS ''wörd''\\'",
        "select 'p@ss \\'wörd\\'\\\\'",
        json.dumps("p@ss 'wörd'\\"),
        json.dumps("p@ss 'wörd'\\", ensure_ascii=False),
        "http://x/?q=p%40ss+%27w%C3%B6rd%27%5C",
        "http://x/p%40ss%20%27w%C3%B6rd%27%5C",
    ],
)
def test_a_secret_value_is_hidden_as_sql_json_and_urls_write_it(text):
    shown = hidden("p@ss 'wörd'\\")(text)

    assert "***" in shown
    assert "rd" not in shown.lower()


def test_each_line_of_a_secret_value_is_hidden():
    shown = hidden("-----BEGIN-----\nMIIEvQ\nIBADAN\n")

    assert shown("one MIIEvQ, two IBADAN") == "one ***, two ***"


def test_the_longer_of_two_secret_values_is_hidden_whole():
    assert hidden("abcd", "abcdefgh")("abcdefgh abcd") == "*** ***"


def test_a_short_secret_value_is_hidden_where_it_is_a_word():
    shown = hidden("1a", "", " ", "*")

    assert shown("select 1a, 11ab, * from t") == "select ***, 11ab, * from t"


def test_variables_of_secret_names_are_hidden_and_no_others():
    secrets = SecretValues()

    secrets.add_environment(
        {"DBT_ENV_SECRET_A": "alpha", "PENSTOCK_SECRET_B": "bravo", "SECRET_C": "gamma"}
    )

    assert secrets.hide("alpha bravo gamma") == "*** *** gamma"


def test_secret_settings_are_hidden_but_not_the_names_of_classes():
    secrets = SecretValues()

    secrets.add_settings(
        {
            "spark.hadoop.fs.s3a.secret.key": "c0rrect-horse",
            "spark.hadoop.fs.s3a.aws.credentials.provider": "org.apache.hadoop.SimpleProvider",
            "spark.security.credentials.hive.enabled": "false",
            "spark.sql.shuffle.partitions": "200000000",
        }
    )

    said = "c0rrect-horse org.apache.hadoop.SimpleProvider false 200000000"
    assert secrets.hide(said) == "*** org.apache.hadoop.SimpleProvider false 200000000"


def test_a_document_keeps_its_shape_and_hides_what_stands_under_secret_keys(secret):
    document = {
        "url": "x://u:p@h",
        "password": ["a", {"b": 1}],
        "count": 7,
        "on": None,
        secret: [secret, True],
    }

    assert masked(document) == {
        "url": "x://***@h",
        "password": ["***", {"b": 1}],
        "count": 7,
        "on": None,
        "***": ["***", True],
    }


def test_the_longer_of_two_given_values_is_hidden_first_also_as_json_has_it():
    secrets = {"ab", "abcd", "", 'q"t'}

    assert without_secrets('abcd ab q"t q\\"t', secrets) == "*** *** *** ***"
    assert without_secrets("abc", {""}) == "abc"


def test_known_values_are_told_to_another_process_in_every_form():
    secrets = SecretValues()
    secrets.add(["a/b"])

    assert secrets.forms == {"a/b", "a%2Fb"}


def test_a_value_that_is_known_already_changes_nothing():
    secrets = SecretValues()
    secrets.add(["open-sesame"])
    secrets.add(["open-sesame", "***"])

    assert secrets.hide("open-sesame ***") == "*** ***"


def test_the_lines_of_a_secret_are_hidden_from_four_characters_on():
    shown = hidden("long line\nabc\nabcd")

    assert shown("abc, abcd, long line") == "abc, ***, ***"


@pytest.mark.parametrize(
    ("value", "shown"), [("1234567", "1234567"), ("12345678", "***"), ("a.b.Class", "a.b.Class")]
)
def test_settings_of_secret_names_are_hidden_from_eight_characters_on(value, shown):
    secrets = SecretValues()

    secrets.add_settings({"token": value})

    assert secrets.hide(value) == shown


@pytest.mark.parametrize(("value", "shown"), [("abc", "xabc ***"), ("abcd", "x*** ***")])
def test_a_secret_of_four_characters_is_hidden_inside_of_words(value, shown):
    assert hidden(value)(f"x{value} {value}") == shown
