"""What an expression says of itself."""

import pytest

from penstock.project.entities.expressions import facts_of, projection_facts


@pytest.mark.parametrize(
    ("text", "reads", "volatile"),
    [
        ("id * 2", ("id",), ()),
        ("INVALID_FUNCTION(id)", ("id",), ()),
        ("a.b + c", ("a", "c"), ()),
        ("transform(a, x -> x + 1)", ("a",), ()),
        ("concat(current_user, `user`)", ("user",), ("current_user",)),
        ("concat(session_user(), now(), rand())", (), ("now", "rand", "session_user")),
        ("coalesce(d, current_date)", ("d",), ("current_date",)),
        ("input_file_name()", (), ("input_file_name",)),
    ],
)
def test_names_and_volatile_functions_are_found(text, reads, volatile):
    facts = facts_of(text)

    assert (facts.reads, tuple(sorted(facts.volatile)), facts.problem) == (reads, volatile, "")


@pytest.mark.parametrize(
    ("text", "literal"),
    [
        ("950", "950"),
        ("-(1.50)", ""),
        ("(- 1.50)", "-1.5"),
        ("'x'", "x"),
        ("TRUE", "true"),
        ("1e3", "1000"),
        ("1 + 1", ""),
        ("date '2024-01-01'", ""),
    ],
)
def test_a_literal_has_a_value(text, literal):
    assert facts_of(text).literal == literal


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("count(*)", "count(*) reads many rows"),
        ("row_number() over (order by a)", "it holds a window function"),
        ("exists (select 1)", "it holds a subquery"),
        ("posexplode(a)", "posexplode makes several rows of one"),
        ("*", "it means several columns"),
        ("", "it cannot be read as one expression: one expression is expected"),
        ("1; drop table x", "it cannot be read as one expression: Invalid expression"),
    ],
)
def test_what_is_no_value_of_one_row_is_a_problem(text, problem):
    assert facts_of(text).problem.startswith(problem)


def test_a_comment_at_the_end_swallows_nothing():
    assert facts_of("a /* why */ + 1 -- more\n;").text == "a /* why */ + 1"


@pytest.mark.parametrize(
    "item",
    [
        "*",
        "a, upper(b) AS b",
        "* EXCEPT (a)",
        "explode(tags) AS tag",
        "stack(2, 'a', a, 'b', b) AS (name, value)",
        "transform(a, x -> x + 1) AS a",
        "s.field",
        "DISTINCT a",
        "cast(a AS decimal(9, 2)) a -- why",
    ],
)
def test_a_select_list_is_a_projection(item):
    assert projection_facts(item).problem == ""


@pytest.mark.parametrize(
    ("item", "problem"),
    [
        ("a FROM t", "a select list has no FROM"),
        ("a WHERE a > 1", "a select list has no WHERE"),
        ("a ORDER BY a", "a select list has no ORDER"),
        ("a UNION SELECT b", "it holds UNION"),
        ("upper(a", "Expecting )"),
        ("a) AS (b", "Invalid expression / Unexpected token"),
        ("a; DROP TABLE t", "another statement follows"),
        ("", "nothing follows SELECT"),
        ("a,", "nothing follows ,"),
        ("a AS", "nothing follows AS"),
    ],
)
def test_what_is_no_select_list_is_told(item, problem):
    assert projection_facts(item).problem == problem
