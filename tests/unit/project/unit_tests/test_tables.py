import pytest

from penstock.core.findings import Location
from penstock.project.unit_tests.definition import kind_of
from penstock.project.unit_tests.tables import CsvError, read_csv

HERE = Location("t.yml")


def test_csv_keeps_quotes_and_lines_apart() -> None:
    names, rows = read_csv('a, b\n"x ""y""\nz",1\n\n ,"" \nNULL,true', HERE)

    assert names == ("a", "b")
    assert [[(c.plain, str(kind_of(c)), c.where.line) for c in row.values()] for row in rows] == [
        [('x "y"\nz', "text", 2), ("1", "integer", 2)],
        [(None, "null", 5), ("", "text", 5)],
        [("NULL", "text", 6), ("true", "boolean", 6)],
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "it has no header"),
        ("a,A\n1,2", "a name is missing in its header, or is there twice"),
        ('a\n"x', "a quote is not closed"),
        ('a\n"x"y', "text follows a closing quote"),
    ],
)
def test_csv_that_is_none_is_refused(text, said) -> None:
    with pytest.raises(CsvError, match=said):
        read_csv(text, HERE)


OK = "expect: {rows: []}"


def test_tables_have_one_form_and_files_lie_under_tests(told) -> None:
    def input_(table: str) -> str:
        return f"- {{name: n, model: users, given: {{inputs: {{raw.users: {table}}}}}, {OK}}}"

    def told_of(table: str, **more: str) -> list[str]:
        found = told(f"unit_tests: [{input_(table)[2:]}]", **more)
        return [line.partition(": error: ")[2] for line in found]

    assert told_of("{rows: [], csv: x}") == [
        (
            "bad-value: input 'raw.users' has both rows and csv; "
            "hint: give exactly one of rows, csv, sql, file"
        ),
    ]
    assert told_of("{sql: select * from raw.users}")[0] == (
        "bad-value: sql: it reads the table raw.users; a test reads none; "
        "hint: write a SELECT of constants"
    )
    assert told_of("{sql: drop table x}")[0].startswith("not-a-query: sql: it is not a query")
    assert told_of("{file: ../x.csv}")[0] == (
        "path-outside-project: file: '../x.csv' lies outside of tests/"
    )
    assert told_of("{file: x.csv}")[0] == "bad-value: file: there is no tests/x.csv"
    assert told_of("{file: x.txt}")[0] == (
        "bad-value: file: 'x.txt' is not a file of rows; hint: one of .csv, .json, .parquet, .sql"
    )
    more = {"tests/x.csv": "id,email\n1,a\n2\n"}
    assert told_of("{file: x.csv}", **more)[0] == "bad-value: csv: 1 cells under 2 names"
    more = {"tests/x.json": '{"id": 1}\n[2]\n'}
    assert told_of("{file: x.json}", **more)[0].startswith(
        "bad-value: no JSON rows: a row is not an object"
    )
