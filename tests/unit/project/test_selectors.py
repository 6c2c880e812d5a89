from __future__ import annotations

from dataclasses import replace
from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.beside.exposures import Access, Contact, Exposure
from penstock.core.errors import SelectorError
from penstock.core.findings import Location
from penstock.core.model import Fingerprint, Model, Source
from penstock.core.names import InputKind, InputName, TableName
from penstock.core.project import Project, Target
from penstock.core.query import Query
from penstock.project.selectors import Known, exact_names, left_out, select
from penstock.strategies.table import Table
from penstock.strategies.view import View

EVENTS = InputName(InputKind.SOURCE, "raw.events")
NOTHING = Known()


def model(path, *parents, tags=(), sources=(), config=None, strategy=None):
    pure = PurePosixPath(path)
    inputs = tuple(InputName(InputKind.MODEL, p) for p in parents) + tuple(sources)
    return Model(
        name=pure.name,
        table=TableName(pure.parent.name, pure.name),
        where=Location(f"models/{path}.sql"),
        strategy=strategy or View(),
        query=Query("", "", "", inputs),
        fingerprint=Fingerprint("", ""),
        depends_on=parents,
        tags=tags,
        config=config or {},
    )


def project_of(*models):
    table = TableName("raw", "events")
    source = Source(table, Location("models/s.yml"), "/x")
    return Project(
        name="shop",
        root="/shop",
        target=Target("dev", "/w", "sqlite://"),
        models={m.name: m for m in models},
        sources={"raw.events": source},
    )


SHOP = project_of(
    model("staging/users", sources=(EVENTS,), tags=("daily", "pii")),
    model("staging/orders", tags=("daily",), strategy=Table()),
    model("mart/joined", "users", "orders", config={"materialized": "view", "tags": "a,b"}),
    model("mart/deep/report", "joined", tags=("weekly",)),
    model("mart/deep/other", "orders"),
)
KNOWN = Known(
    {
        "users": frozenset({"current"}),
        "orders": frozenset({"sql_changed", "failed"}),
        "joined": frozenset({"pending"}),
    },
    {"users": "success", "report": "failed", "gone": "failed"},
)


def chosen(*include, exclude=()):
    return sorted(select(SHOP, include, exclude, KNOWN))


@pytest.mark.parametrize(
    ("value", "names"),
    [
        ("users", ["users"]),
        ("USERS", ["users"]),
        ("staging.users", ["users"]),
        ("users orders", ["orders", "users"]),
        ("tag:daily,tag:pii", ["users"]),
        ("o*", ["orders", "other"]),
        ("?sers", ["users"]),
        ("[uo]*ers", ["orders", "users"]),
        ("staging", ["orders", "users"]),
        ("staging.*", ["orders", "users"]),
        ("shop.mart", ["joined", "other", "report"]),
        ("mart.deep", ["other", "report"]),
        ("+joined", ["joined", "orders", "users"]),
        ("users+", ["joined", "report", "users"]),
        ("1+report", ["joined", "report"]),
        ("users+1", ["joined", "users"]),
        ("1+joined+1", ["joined", "orders", "report", "users"]),
        ("0+joined", ["joined"]),
        ("@users", ["joined", "orders", "report", "users"]),
        ("tag:d*", ["orders", "users"]),
        ("tag:weekly+", ["report"]),
        ("path:models/staging", ["orders", "users"]),
        ("path:models/mart/deep/*.sql", ["other", "report"]),
        ("models/staging/users.sql", ["users"]),
        ("name:joined", ["joined"]),
        ("kind:sql", ["joined", "orders", "other", "report", "users"]),
        ("strategy:table", ["orders"]),
        ("source:raw.events", ["users"]),
        ("source:raw", ["users"]),
        ("source:raw.events+", ["joined", "report", "users"]),
        ("source:raw.events+1", ["users"]),
        ("source:raw.events+2", ["joined", "users"]),
        ("config.materialized:view", ["joined"]),
        ("config.tags:b", ["joined"]),
        ("state:drifted", ["joined", "orders"]),
        ("state:sql_changed", ["orders"]),
        ("result:failed", ["report"]),
        ("result:error", ["report"]),
        ("result:pass", ["users"]),
        ("resource_type:model", ["joined", "orders", "other", "report", "users"]),
        ("file:users.sql", ["users"]),
        ("file:rep*", ["report"]),
        ("package:shop,tag:daily", ["orders", "users"]),
        ("package:this,tag:weekly", ["report"]),
        ("result:failed+ tag:pii,+joined", ["report", "users"]),
    ],
)
def test_the_grammar(value, names):
    assert chosen(value) == names


def test_models_below_the_folder_of_a_package_are_from_it():
    shop = project_of(model("packages/jira/users"), model("packages/jira/marts/issues"), *[])
    both = project_of(*shop.models.values(), model("staging/orders"))

    assert select(both, ["package:jira"], [], NOTHING) == ("issues", "users")
    assert select(both, ["package:shop"], [], NOTHING) == ("orders",)


def test_nothing_asked_is_everything_in_the_order_of_building():
    assert select(SHOP, [], [], NOTHING) == ("orders", "users", "joined", "other", "report")


def test_a_repeated_select_narrows_and_a_repeated_exclude_excludes_more():
    assert chosen("+joined", "tag:daily") == ["orders", "users"]
    assert chosen("+joined", exclude=("users", "tag:pii orders")) == ["joined"]


@pytest.mark.parametrize(
    ("include", "count"),
    [
        ((), 0),
        (("staging",), 0),
        (("staging", "tag:daily"), 0),
        (("staging", "users"), 1),
        (("+joined", "staging", "users"), 2),
        (("users", "orders"), 2),
    ],
)
def test_models_that_only_some_of_several_selects_take_are_counted(include, count):
    assert left_out(SHOP, include, KNOWN) == count


EXPOSED = replace(
    SHOP,
    exposures={
        "weekly": Exposure(
            "weekly", "dashboard", Contact("Ann"), Location("models/e.yml"), ("joined", "seed")
        )
    },
    models={
        **SHOP.models,
        "users": replace(SHOP.models["users"], group="web", access=Access.PRIVATE),
    },
)


@pytest.mark.parametrize(
    ("value", "names"),
    [
        ("exposure:weekly", ["joined"]),
        ("exposure:w*", ["joined"]),
        ("+exposure:weekly", ["joined", "orders", "users"]),
        ("1+exposure:weekly", ["joined"]),
        ("2+exposure:weekly", ["joined", "orders", "users"]),
        ("exposure:weekly+", ["joined"]),
        ("group:web", ["users"]),
        ("access:private", ["users"]),
    ],
)
def test_models_are_selected_by_their_exposures_groups_and_access(value, names):
    assert sorted(select(EXPOSED, [value], [], NOTHING)) == names


def test_an_unknown_exposure_names_the_nearest():
    with pytest.raises(SelectorError) as caught:
        select(EXPOSED, ["exposure:weakly"], [], NOTHING)

    assert (caught.value.sentence, caught.value.hint) == (
        "'exposure:weakly' matches no exposure",
        "did you mean 'weekly'?",
    )


def test_a_name_that_stands_alone_is_told_from_patterns_neighbours_and_methods():
    values = ["a +b c+ @d", "e,tag:f name:g", "h* i? [j]k l/m name:n*"]

    assert exact_names(values) == ("a", "e", "g")


def test_an_empty_intersection_says_how_to_unite():
    with pytest.raises(SelectorError) as caught:
        select(SHOP, ["users", "orders"], [], NOTHING)

    assert caught.value.render() == (
        "error: empty-selection: no model is in all of the given --select\n"
        "  hint: put the names into one --select: --select 'users orders'"
    )


def test_an_unmatched_tag_says_which_tags_there_are():
    with pytest.raises(SelectorError) as caught:
        select(SHOP, ["tag:nothing"], [], NOTHING)

    assert caught.value.exit_code == 2
    assert caught.value.sentence == "no model has tag 'nothing'; there are: daily, pii, weekly"


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("user", "'user' matches no model\n  hint: did you mean 'users'?"),
        (
            "nothing+",
            "'nothing+' matches no model\n  hint: there are: joined, orders, other, report, users",
        ),
        ("tags:daily", "'tags' is not a selector method\n  hint: did you mean 'tag'?"),
        ("group:x", "'group:x': no model of this project has one"),
        ("entity:*", "'entity:*': no model of this project has one"),
        ("connection:x", "'connection:x': no model of this project has one"),
        ("kind:python", "no model has kind 'python'; there are: sql\n  hint: penstock list"),
        (
            "source:raw.event",
            "'source:raw.event' matches no source\n  hint: did you mean 'raw.events'?",
        ),
        ("config.nope:1", "'config.nope:1' matches no model with config nope"),
        ("tag:weekly,tag:pii", "no model matches all of 'tag:weekly,tag:pii'"),
        ("path:models/none", "'path:models/none' matches no model file"),
        ("++", "'++' is not a selector"),
        ("a++b", "'a++b' is not a selector"),
        ("users,", "'' is not a selector"),
        (" ", "the selector is empty"),
        ("state:tampered", "no model has state 'tampered'; there are: "),
    ],
)
def test_what_matches_nothing_is_an_error(value, said):
    with pytest.raises(SelectorError) as caught:
        select(SHOP, [value], [], KNOWN)

    assert said in caught.value.render()


def test_an_unmatched_exclude_is_an_error_too():
    with pytest.raises(SelectorError, match="matches no model"):
        select(SHOP, [], ["usres"], NOTHING)


def test_excluding_everything_is_an_error():
    with pytest.raises(SelectorError, match="everything that was selected is excluded"):
        select(SHOP, ["users"], ["users"], NOTHING)


def test_a_project_without_models_selects_none():
    assert select(project_of(), [], [], NOTHING) == ()


atoms = st.sampled_from(
    [
        "users",
        "orders",
        "o*",
        "nope",
        "tag:daily",
        "tag:x",
        "kind:sql",
        "staging",
        "state:drifted",
        "result:success",
        "source:raw",
        "é",
        "+",
        "@",
        ":",
        "*",
        "",
    ]
)
terms = st.tuples(
    st.sampled_from(["", "+", "2+", "@"]), atoms, st.sampled_from(["", "+", "+1"])
).map("".join)
values = st.lists(
    st.lists(terms, min_size=1, max_size=3).map(",".join), min_size=1, max_size=3
).map(" ".join)


@pytest.mark.laws
@given(st.lists(values, max_size=3), st.lists(values, max_size=2))
def test_law_10_selectors_return_known_models_or_say_what_is_wrong(include, exclude):
    found, said = outcome(include, exclude)

    order = select(SHOP, [], [], NOTHING)
    assert bool(found) is not bool(said)
    assert list(found) == [name for name in order if name in found]


def outcome(include, exclude):
    try:
        return select(SHOP, include, exclude, KNOWN), ""
    except SelectorError as error:
        return (), error.sentence
