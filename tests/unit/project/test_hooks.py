"""Hooks, grants, groups and exposures as files write them, and what is wrong with them."""

import pytest

from penstock.core.beside.exposures import Access, Contact, Exposure, ModelGroup
from penstock.core.beside.hooks import Grant
from penstock.core.findings import Location
from penstock.core.project import hook_lines

TABLE = "{{ config(materialized='table') }}\nselect 1 as id"
CATALOG = "name: shop\ntargets: {dev: {catalog: main}}\n"


def a_table(**settings):
    said = ", ".join(f"{key}={value!r}" for key, value in settings.items())
    return f"{{{{ config(materialized='table', {said}) }}}}\nselect 1 as id"


def lines(load, files, name="a"):
    project = load(files)
    return hook_lines(project, project.models[name])


def test_hooks_of_a_header_in_our_words_and_in_dbts_are_the_same(load):
    ours = a_table(hooks={"before": ["set a = 1"], "after": ["optimize {{ this }}", "x"]})
    theirs = a_table(
        pre_hook="set a = 1", post_hook=[{"sql": "optimize {{ this }}", "transaction": False}, "x"]
    )
    expected = ("before: set a = 1", "after: optimize shop.a", "after: x")

    assert lines(load, {"models/a.sql": ours}) == expected
    assert lines(load, {"models/a.sql": theirs}) == expected


def test_hooks_of_defaults_run_before_those_of_yaml_and_of_the_header(load):
    files = {
        "penstock.yml": """
            name: shop
            defaults:
              hooks: {after: [one]}
              models/:
                post-hook: two
        """,
        "models/m.yml": "models:\n  - name: a\n    config:\n      post-hook: [three]\n",
        "models/a.sql": a_table(post_hook="four"),
    }

    assert lines(load, files) == ("after: one", "after: two", "after: three", "after: four")


def test_a_hook_is_a_template_with_the_names_of_its_model(load):
    files = {
        "penstock.yml": "name: shop\nvars: {days: 3}\n",
        "models/a.sql": a_table(
            post_hook="insert into audit.log select '{{ this }}', {{ var('days') }}, "
            "'{{ run_timestamp }}' from {{ ref('b') }} join {{ source('raw', 'x') }}"
        ),
        "models/b.sql": TABLE,
        "models/s.yml": "sources: [{name: raw, tables: [{name: x, path: x}]}]",
    }

    assert lines(load, files) == (
        "after: insert into audit.log select 'shop.a', 3, 'run_timestamp' from shop.b join raw.x",
    )
    assert load(files).models["a"].order_after == ("b",)
    assert load(files).models["a"].depends_on == ()


def test_a_hook_may_be_put_together_in_the_header(load):
    header = (
        "{{ config(materialized='table', post_hook='vacuum ' ~ this ~ ' from ' ~ ref('b')) }}\n"
        "select 1 as id"
    )

    assert lines(load, {"models/a.sql": header, "models/b.sql": TABLE}) == (
        "after: vacuum shop.a from shop.b",
    )


def test_a_hook_for_existing_tables_alone_has_no_text_for_the_first_step(load):
    text = "{% if is_incremental() %}optimize {{ this }}{% endif %}"
    (hook,) = load({"models/a.sql": a_table(post_hook=text)}).models["a"].hooks.after

    assert hook.text == ""
    assert hook.incremental == "optimize `penstock:this:a`"


def test_hooks_are_no_part_of_any_fingerprint(load):
    bare = load({"models/a.sql": a_table(tags=["x"])}).models["a"]
    hooked = load({"models/a.sql": a_table(tags=["x"], pre_hook="set a = 1")}).models["a"]

    assert hooked.fingerprint == bare.fingerprint


def test_versioned_models_and_functions_have_hooks(load):
    files = {
        "models/v.yml": """
            name: v
            hooks: {before: set a = 1}
            destination: {dataset: s, table: v}
            versions:
              - {version: 1, effective_from: 2024-01-01, sql: select 1 as n,
                 schema: [{name: n, type: INT}]}
        """,
        "models/f.py": "from penstock import table\n\n@table\ndef f():\n    return None\n",
        "models/m.yml": "models: [{name: f, config: {post_hook: set b = 1}}]",
    }

    assert lines(load, files, "v") == ("before: set a = 1",)
    assert lines(load, files, "f") == ("after: set b = 1",)


def test_hooks_of_the_project_are_those_of_penstock_yml(load):
    files = {
        "penstock.yml": "name: shop\nhooks:\n  before: set a = 1\n"
        "  after: [\"select count(*) from {{ ref('a') }}\"]\n",
        "models/a.sql": TABLE,
    }

    assert hook_lines(load(files)) == (
        "before the run: set a = 1",
        "after the run: select count(*) from shop.a",
    )


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        ("delete from {{ this }}", ("hook-changes-rows: a hook may not change the table of a: "
         "penstock records what made its rows")),
        ("  INSERT  INTO {{ ref('a') }} select 2", ("hook-changes-rows: a hook may not change "
         "the table of a: penstock records what made its rows")),
        ("set a = 1; set b = 2", ("bad-value: a hook is one statement, and this one goes on "
         "after a semicolon")),
        ("select * from {{ ref('b') }}", "unknown-reference: no model is called 'b'"),
        ("select {{ nothing }}", "unknown-name: 'nothing' is undefined"),
        ("select * from {{ ref('v') }}", ("hook-not-supported: v is a view, which no statement "
         "can name without a catalog")),
    ],
)  # fmt: skip
def test_a_hook_that_cannot_work_is_a_finding(findings, text, finding):
    files = {"models/a.sql": a_table(post_hook=text), "models/v.sql": "select 1 as id"}

    assert findings(files) == [f"models/a.sql:1: error: {finding}"]


def test_one_statement_may_end_in_a_semicolon(load):
    assert lines(load, {"models/a.sql": a_table(post_hook="set a = ';' ;\n")}) == (
        "after: set a = ';'",
    )


def test_statements_that_keep_rows_and_tables_of_others_are_allowed(findings):
    texts = [
        "optimize {{ this }}",
        "alter table {{ this }} set tblproperties ('a' = 'b')",
        "insert into audit.log select * from {{ this }}",
        "delete from audit.log where id in (select id from {{ this }})",
    ]

    assert findings({"models/a.sql": a_table(post_hook=texts)}) == []


def test_results_are_a_view_and_no_variable_of_templates(findings):
    files = {
        "penstock.yml": "name: shop\nhooks: {after: '{% for r in results %}x{% endfor %}'}\n",
        "models/a.sql": TABLE,
    }

    assert findings(files, hints=True) == [
        (
            "penstock.yml:2: error: unknown-name: 'results' is undefined\n"
            "  hint: select from the view penstock_results, whose rows are the results of the run"
        )
    ]


def test_this_has_no_meaning_in_hooks_of_the_project(findings):
    files = {"penstock.yml": "name: shop\nhooks: {before: 'optimize {{ this }}'}\n"}
    files |= {"models/a.sql": TABLE}

    assert findings(files) == [
        (
            "penstock.yml:2:8: error: hook-not-supported: `this` is a model's own table, and this "
            "hook is the project's"
        )
    ]


def test_a_hook_that_is_no_text_is_a_finding(findings):
    assert findings({"models/a.sql": a_table(post_hook=[3, {"sq": "x"}])}) == [
        "models/a.sql:1: error: bad-value: post_hook is a list; it must be SQL, or a list of SQL",
    ]


def test_grants_merge_by_privilege_and_a_plus_adds(load):
    files = {
        "penstock.yml": CATALOG + "defaults:\n  grants: {select: [ann], modify: eve}\n",
        "models/a.sql": a_table(grants={"+select": ["bob"], "modify": []}),
    }

    assert load(files).models["a"].grants == (Grant("select", "ann"), Grant("select", "bob"))
    assert lines(load, files) == ("grants: select to ann, bob",)


def test_grants_without_a_catalog_are_a_warning(findings):
    assert findings({"models/a.sql": a_table(grants={"select": ["ann"]})}) == [
        (
            "models/a.sql:1: warning: grants-without-catalog: grants of a have no effect: "
            "target dev has no catalog, and files have no rights of their own"
        )
    ]


GROUPS = """
    groups:
      - {name: finance, owner: {name: Ann, email: ann@example.com}, description: Money.}
      - {name: web, owner: {name: Bob}}
    models:
      - {name: a, group: finance, access: private}
"""


def test_a_group_has_an_owner_and_its_models(load):
    project = load({"models/a.sql": TABLE, "models/m.yml": GROUPS})
    where = Location("models/m.yml", 3, 9)

    assert project.groups["finance"] == ModelGroup(
        "finance", Contact("Ann", "ann@example.com"), where, "Money."
    )
    assert (project.models["a"].group, project.models["a"].access) == ("finance", Access.PRIVATE)


@pytest.mark.parametrize(
    ("group", "outside"), [("web", "in group web"), ("", "in no group"), ("finance", None)]
)
def test_a_private_model_is_read_in_its_group_alone(findings, group, outside):
    header = f"{{{{ config(materialized='table', group='{group}') }}}}"
    files = {
        "models/a.sql": TABLE,
        "models/m.yml": GROUPS,
        "models/b.sql": f"{header}\nselect id\nfrom {{{{ ref('a') }}}}",
    }
    expected = (
        f"models/b.sql:3: error: private-model: b, {outside}, reads a, which is private to "
        "group finance\n"
        "  hint: add the reader to group finance, or write access: protected for a"
    )

    assert findings(files, hints=True) == ([expected] if outside else [])


def test_an_unknown_group_and_a_private_model_without_one_are_findings(findings):
    files = {
        "models/a.sql": a_table(group="finanze"),
        "models/b.sql": a_table(access="private"),
        "models/m.yml": "groups: [{name: finance, owner: {name: Ann}}]",
    }

    assert findings(files, hints=True) == [
        (
            "models/a.sql:1: error: unknown-group: no group is called 'finanze'\n"
            "  hint: did you mean 'finance'?"
        ),
        (
            "models/b.sql:1: error: private-model: b is private and in no group, so no model may "
            "read it\n"
            "  hint: write group: with the group that may read it, or access: protected"
        ),
    ]


EXPOSURE = """
    exposures:
      - name: weekly_sales
        label: Weekly sales
        type: dashboard
        maturity: high
        url: https://bi.example.com/1
        description: Sales by week.
        depends_on: [ref('a'), "source('raw', 'x')"]
        owner: {name: Ann, email: ann@example.com}
        tags: [daily]
        meta: {tool: Superset}
        config: {tags: [bi], meta: {cost: low}}
    sources: [{name: raw, tables: [{name: x, path: x}]}]
"""


def test_an_exposure_is_read_as_dbt_writes_it(load):
    project = load({"models/a.sql": TABLE, "models/m.yml": EXPOSURE})

    assert project.exposures["weekly_sales"] == Exposure(
        "weekly_sales",
        "dashboard",
        Contact("Ann", "ann@example.com"),
        Location("models/m.yml", 3, 9),
        ("a",),
        ("raw.x",),
        "Weekly sales",
        "https://bi.example.com/1",
        "high",
        "Sales by week.",
        ("daily", "bi"),
        {"cost": "low", "tool": "Superset"},
    )


def test_a_disabled_exposure_is_none(load):
    text = EXPOSURE.replace("config: {", "config: {enabled: false, ")

    assert load({"models/a.sql": TABLE, "models/m.yml": text}).exposures == {}


def test_exposures_of_unknown_or_private_models_are_findings(findings):
    text = "exposures:\n  - name: e\n    type: ml\n    depends_on: [ref('nope'), ref('a')]\n"
    files = {"models/a.sql": TABLE, "models/m.yml": GROUPS, "models/e.yml": text}

    assert findings(files) == [
        (
            "models/e.yml:2:5: error: private-model: exposure e reads a, which is private to group "
            "finance"
        ),
        (
            "models/e.yml:4:18: error: unknown-reference: exposure e depends on ref('nope'), which "
            "is unknown"
        ),
    ]


def test_an_exposure_lacks_its_type(findings):
    text = "exposures:\n  - {name: e, type: chart}\n"

    assert findings({"models/a.sql": TABLE, "models/m.yml": text}) == [
        (
            "models/m.yml:2:21: error: bad-value: exposures.type is 'chart'; it must be one of "
            "dashboard, notebook, analysis, ml, application"
        )
    ]
