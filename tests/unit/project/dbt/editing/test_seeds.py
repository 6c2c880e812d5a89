"""Columns of seeds get the types that dbt finds in their values, and values that Spark reads."""

import pytest

from penstock.project.dbt.editing.seeds import seed_rows, seed_text, seed_types
from penstock.project.dbt.notes import FileLog


def types(*values, given=()):
    return seed_types([["c"], *([each] for each in values)], given).get("c")


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["1", "-20"], "bigint"),
        (["007"], "bigint"),
        (["1.0", "2.50"], "double"),
        (["1.0", "2.00"], "bigint"),
        (["1e3"], "bigint"),
        (["1,200", "5%", "-$7"], "bigint"),
        (["£0.50"], "double"),
        (["", "null", "NULL"], "bigint"),
        ([], "bigint"),
        (["nan"], "string"),
        (["1e999999999"], "string"),
        (["12345678901234567890123456789012345678901"], "bigint"),
        (["2024-01-31", ""], "date"),
        (["2024-02-30"], "string"),
        (["2024-01-31 10:00:00"], "timestamp"),
        (["2024-01-31 10:00:00.5"], "string"),
        (["2024-01-31T10:00:00.5+02:00", "2024-01-31T10:00:00Z"], "timestamp"),
        (["2024-01-31 10:00:00", "2024-01-31T10:00:00"], "string"),
        (["2024-01-31", "2024-01-31 10:00:00"], "string"),
        (["true", "FALSE", ""], "boolean"),
        (["true", "1"], "string"),
        (["10", "x"], None),
        (["Ada", "true"], None),
    ],
)
def test_the_type_of_a_column_is_that_of_dbt(values, kind):
    assert types(*values) == kind


def test_a_type_that_the_project_gives_is_not_found_again():
    assert seed_types([["Id", "n"], ["1", "2"]], ["id"]) == {"n": "bigint"}


def test_a_row_that_is_too_short_says_nothing_of_the_columns_that_it_lacks():
    rows = seed_rows("a,b\n1\n2,2024-01-31\n", ",")

    assert seed_types(rows, ()) == {"a": "bigint", "b": "date"}
    assert seed_text("a,b\n1\n2,x\n", ",", {}, FileLog()) == "a,b\n1\n2,x\n"


def test_values_that_spark_does_not_read_are_written_as_plain_ones():
    text = 'id,share,n\n"1,200",50%,""\n7.0,-$0.5,Null\n'
    log = FileLog()

    said = seed_text(text, ",", {"id": "bigint", "share": "double", "n": "string"}, log)

    assert said == "id,share,n\n1200,50,\n7,-0.5,\n"
    assert [note.what for note in log.notes] == ["rows"]


def test_blanks_around_the_name_of_a_column_are_left_out():
    text = "id, name\n1, Ada\n"

    assert seed_types(seed_rows(text, ","), ()) == {"id": "bigint"}
    assert seed_text(text, ",", {}, FileLog()) == "id,name\n1, Ada\n"


def test_a_file_without_such_values_stays_as_it_is():
    text = 'id,body\r\n1,"say ""hi"", twice"\r\n'

    assert seed_text(text, ",", {"id": "bigint"}, FileLog()) == text


@pytest.mark.parametrize("text", ["", 'a;b\n"' + "x" * 200_000 + '";""\n'])
def test_a_file_that_cannot_be_read_stays_as_it_is(text):
    assert seed_rows(text, ";") == []
    assert seed_text(text, ";", {}, FileLog()) == text


def test_another_delimiter_becomes_a_comma():
    assert seed_text("a;b\n1;x,y\n", ";", {}, FileLog()) == 'a,b\n1,"x,y"\n'
