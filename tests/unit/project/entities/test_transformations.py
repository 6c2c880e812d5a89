"""Filters, duplicates and projections: what they become, and what cannot be."""

import pytest

from fakes.entity_files import KEY, entity, files
from penstock.core.entities.transformations import Deduplicate, Filter, Keep

LATEST = {"deduplicate": {"keep": "last", "order_by": ["changed"]}}
MADE_KEY = [
    {"name": "code", "expression": "upper(raw)"},
    {"name": "ID", "expression": "concat(code, 'x')", "fieldroles": ["businesskey"]},
]


def read(load, **said):
    return next(iter(load(files(entity(**said))).entities.values()))


def problems(findings, **said):
    found = findings(files(entity(**said)))
    return [line.split(": ", 2)[2].replace("$.entities[0].transformations", "$") for line in found]


def test_rows_are_filtered_and_duplicates_left_out(load):
    said = [
        {"where": "amount > 0 -- no returns"},
        {"deduplicate": {"keep": "FIRST", "order_by": "coalesce(changed, made)"}},
        {"deduplicate": {}},
        {"where": "changed < current_date()"},
    ]

    found = read(load, transformations=said)

    assert found.transformations == (
        Filter("amount > 0"),
        Deduplicate(Keep.FIRST, ("coalesce(changed, made)",)),
        Deduplicate(Keep.LAST),
        Filter("changed < current_date()"),
    )
    assert [str(each) for each in found.transformations[:2]] == [
        "where amount > 0",
        "deduplicate, keep first by coalesce(changed, made)",
    ]


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        (
            "a FROM b",
            'bad-expression: "a FROM b" is not a select list: a select list has no FROM ($)',
        ),
        (
            ["a", "b WHERE c"],
            'bad-expression: "b WHERE c" is not a select list: a select list has no ',
        ),
        ([{"where": "sum(a) > 1"}], 'not-a-row-expression: expression "sum(a) > 1" is none of one'),
        (
            [{"where": "rand() < 1"}],
            'bad-expression: "rand() < 1" uses rand(): it differs on every',
        ),
        (
            [{"column": "r", "expression": "uuid()"}, {"where": "r > 'a'"}],
            "bad-expression: \"r > 'a'\" uses r: it differs on every reading ($[1].where)",
        ),
        (
            [
                {"column": "r", "expression": "uuid()"},
                {"column": "q", "expression": "upper(R)"},
                {"where": "q > 'a'"},
            ],
            "bad-expression: \"q > 'a'\" uses q: it differs on every reading ($[2].where)",
        ),
        ([{"where": 3}], "bad-value: where is the number 3 ($[0].where)"),
        ([{"where": "a", "column": "b"}], "unknown-key: unknown key 'column' ($[0].column)"),
        (
            [{"deduplicate": {"keep": "newest", "order_by": ["a"]}}],
            'bad-value: keep is the text "newest" ($[0].dedu',
        ),
        ([{"deduplicate": {"keep": "last"}}], "missing-key: 'order_by' is missing ($[0].dedupl"),
        ([{"deduplicate": {"order_by": ["a desc"]}}], 'not-a-row-expression: expression "a desc"'),
        ([{"deduplicate": {"order_by": [1]}}], "bad-value: order_by is the number 1 ($[0].dedupl"),
        ([{"deduplicate": {"by": "a"}}], "unknown-key: unknown key 'by' ($[0].deduplicate.by)"),
    ],
)
def test_what_chooses_no_rows_is_a_finding(findings, said, problem):
    found = [each for each in problems(findings, transformations=said) if "volatile" not in each]

    assert [each.startswith(problem) for each in found] == [True], found


def test_duplicates_need_a_key_that_is_known_before_columns_are_calculated(load, findings):
    none = problems(findings, process="full", columns=[], watermark=None, transformations=[LATEST])
    late = problems(findings, columns=MADE_KEY, transformations=[LATEST])
    read(load, columns=[{**KEY, "expression": "raw + 1"}], transformations=[LATEST])

    assert none == [
        "missing-key: deduplicate keeps one row of each business key, and there is none ($)"
    ]
    assert late == [
        (
            'bad-expression: deduplicate needs business key "ID", which is calculated from "code", '
            "itself calculated later ($)"
        )
    ]


def test_a_filter_and_its_order_are_part_of_the_meaning(load):
    def meaning(*said):
        model = load(files(entity(transformations=[*said]))).models["silver_aw.x"]
        return model.fingerprint.canonical

    one, two = {"where": "a > 0"}, LATEST

    assert len({meaning(one, two), meaning(two, one), meaning(one), meaning(two)}) == 4


def test_a_column_made_of_a_volatile_one_is_volatile(load):
    said = [
        {"column": "at", "expression": "current_timestamp()"},
        {"column": "day", "expression": "to_date(AT)"},
        {"column": "year", "expression": "year(day)"},
        {"column": "other", "expression": "upper(name)"},
    ]

    found = read(load, transformations=said)

    assert [each.volatile for each in found.transformations] == [("at",), ("day",), ("year",), ()]
