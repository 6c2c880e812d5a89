"""selectors.yml: what a named selection selects, and what is wrong with one."""

import textwrap

import pytest

from penstock.core.errors import SelectorError
from penstock.project.selectors import Known, select, used_terms

FILES = {
    "models/staging/users.sql": "{{ config(tags=['nightly']) }}\nselect 1 as id\n",
    "models/staging/orders.sql": "select 1 as id\n",
    "models/marts/totals.sql": "select id from {{ ref('orders') }}\n",
    "models/marts/report.sql": (
        "{{ config(tags=['nightly']) }}\nselect id from {{ ref('totals') }}\n"
    ),
}
SELECTORS = """\
    selectors:
      - name: as_text
        description: as after --select
        definition: "tag:nightly path:models/marts,tag:nightly"
      - name: as_pair
        definition: {tag: nightly}
      - name: with_parents
        definition: {method: tag, value: nightly, parents: true, parents_depth: 1}
      - name: with_children
        definition: {method: fqn, value: orders, children: true}
      - name: around
        definition: {method: name, value: orders, childrens_parents: true}
      - name: united
        definition:
          union:
            - {method: tag, value: nightly}
            - method: path
              value: models/marts
              exclude: [{method: name, value: totals}]
            - exclude: [{method: name, value: users}]
      - name: common
        definition:
          intersection:
            - tag: nightly
            - path: models/marts
      - name: again
        definition:
          union:
            - {method: selector, value: common}
            - {method: selector, value: with_children}
      - name: failed
        definition: {union: [{method: result, value: error}, {name: users}]}
      - name: nobody
        definition: {method: result, value: error}
    """


@pytest.fixture
def project(load):
    return load({**FILES, "selectors.yml": textwrap.dedent(SELECTORS)})


@pytest.mark.parametrize(
    ("name", "models"),
    [
        ("as_text", ["report", "users"]),
        ("as_pair", ["report", "users"]),
        ("with_parents", ["report", "totals", "users"]),
        ("with_children", ["orders", "report", "totals"]),
        ("around", ["orders", "report", "totals"]),
        ("united", ["report"]),
        ("common", ["report"]),
        ("again", ["orders", "report", "totals"]),
        ("failed", ["users"]),
        ("common --exclude report orders", None),
    ],
)
def test_a_named_selection_selects_these(project, name, models):
    if models is None:
        found = select(project, ["selector:as_pair"], ["selector:common"], Known())
        models = ["users"]
    else:
        found = select(project, [f"selector:{name}"], [], Known())

    assert sorted(found) == models


def test_a_named_selection_is_a_selector_like_others(project):
    assert sorted(select(project, ["1+selector:common,path:models/marts"], [], Known())) == [
        "report",
        "totals",
    ]


def test_the_terms_of_named_selections_are_known_before_they_are_used(project):
    used = {(term.method, term.value) for term in used_terms(project, ["selector:again users"])}

    assert used == {
        ("selector", "again"),
        ("selector", "common"),
        ("selector", "with_children"),
        ("tag", "nightly"),
        ("path", "models/marts"),
        ("fqn", "orders"),
        ("", "users"),
    }


@pytest.mark.parametrize(
    ("name", "said", "hint"),
    [
        ("comon", "no selector is called 'comon'", "did you mean 'common'?"),
        ("nobody", "the selector 'nobody' selects no model", ""),
    ],
)
def test_a_name_without_models_is_an_error(project, name, said, hint):
    with pytest.raises(SelectorError, match=said) as caught:
        select(project, [f"selector:{name}"], [], Known())

    assert (caught.value.hint or "").startswith(hint)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("selectors: 3", ["1:12: error: bad-value: '3' is not a list"]),
        ("selector: []", ["1:1: error: unknown-key: unknown key 'selector'"]),
        (
            "selectors:\n  - name: a\n  - definition: {tag: x}\n",
            [
                "2:5: error: missing-key: a has no definition",
                "3:5: error: missing-key: the selector has no name",
            ],
        ),
        (
            "selectors:\n  - {name: a, definition: 'b', defalt: true}\n",
            ["2:32: error: unknown-key: unknown key 'defalt'"],
        ),
        (
            "selectors:\n  - {name: a, definition: b}\n  - {name: a, definition: c}\n",
            [
                "3:12: error: duplicate-key: 'a' is defined here and in selectors.yml:2:27",
            ],
        ),
        (
            "selectors:\n  - name: a\n    definition: {method: tags, value: x}\n",
            ["3:17: error: bad-selector: 'tags' is not a selector method"],
        ),
        (
            "selectors:\n  - name: a\n    definition: {method: tag}\n",
            ["3:17: error: missing-key: this selection has no value"],
        ),
        (
            "selectors:\n  - name: a\n    definition: {union: [], intersection: []}\n",
            [
                "3:25: error: bad-value: nothing is selected",
                "3:29: error: unknown-key: unknown key 'intersection'",
            ],
        ),
        (
            "selectors:\n  - name: a\n    definition: {union: [5]}\n",
            ["3:26: error: bad-value: '5' is not a selection"],
        ),
        (
            "selectors:\n  - name: a\n    definition: '+++'\n",
            ["3:17: error: bad-selector: '+++' is not a selector"],
        ),
        (
            (
                "selectors:\n"
                "  - {name: a, definition: {method: selector, value: b}}\n"
                "  - {name: b, definition: 'selector:a selector:c'}\n"
            ),
            [
                "2:27: error: bad-selector: selectors use each other: a, b, a",
                "3:27: error: bad-selector: 'b' uses the selector 'c', which does not exist",
            ],
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_place(findings, text, expected):
    assert findings({**FILES, "selectors.yml": text}) == [f"selectors.yml:{e}" for e in expected]


def test_what_has_no_effect_is_a_warning(findings):
    text = (
        "selectors:\n"
        "  - name: a\n"
        "    default: true\n"
        "    definition: {method: tag, value: nightly, indirect_selection: eager}\n"
    )

    assert findings({**FILES, "selectors.yml": text}) == [
        "selectors.yml:3: warning: not-taken-over: default: 'a' is used only where it is named",
        "selectors.yml:4: warning: not-taken-over: indirect_selection has no effect",
    ]
