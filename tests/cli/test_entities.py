"""`penstock entities`: what is read, shown and found wrong, without a JVM and without the state."""

import json

from fakes.entity_files import CONNECTION, KEY, entity, files

SECRET = {"sql_password": "s3cret", "url": "jdbc:x://u:p4ss@h/d", "delete_missing": True}
MADE = {"name": "region", "expression": "'EMEA'", "fieldroles": ["partition"]}


def lake(settings=SECRET, **said):
    return files(
        entity(2, "orders", columns=[KEY, MADE], group="avw", settings=settings, **said),
        entity(3, "people", process="full", enabled=False, transformations=["*"]),
        connections=[CONNECTION],
    )


def test_entities_are_listed_disabled_ones_too(services, call):
    services(**lake())

    assert call("entities", "list").out == (
        "ID  NAME    MODEL             STRATEGY  CONNECTION  GROUP  ENABLED  FILE\n"
        " 2  orders  silver_aw.orders  merge     aw          avw    yes      entities/x.json\n"
        " 3  people  silver_aw.people  full      aw          -      no       entities/x.json\n"
    )
    chosen = json.loads(call("entities", "list", "-s", "group:AVW", "--json").out)
    assert [each["model"] for each in chosen["entities"]] == ["silver_aw.orders"]


def test_a_disabled_entity_that_is_named_exactly_is_exit_2(services, call):
    services(**lake())

    answer = call("entities", "list", "--select", "entity:3")

    assert answer.code == 2
    assert answer.err == (
        "error: entity-disabled: silver_aw.people is disabled\n"
        "  hint: set enabled of it and of its connection to true (entities/x.json:52:12)\n"
    )


def test_an_entity_is_shown_with_what_it_means(services, call):
    services(**lake())

    assert (
        call("entities", "show", "2").out
        == """\
silver_aw.orders  merge
  id         2
  name       orders
  file       entities/x.json:18:12
  connection aw
  group      avw
  bronze     /data/bronze/aw/orders, slices *.parquet
  silver     /data/silver/aw/orders
  key        ID
  partitions region
  prefix     p_
  timezone   Europe/Amsterdam

Columns:
  NAME    FINAL NAME  TYPE  ROLES        EXPRESSION
  ID      ID          -     businesskey
  region  region      -     partition    'EMEA'

Watermark:
  COLUMN  OPERATION  GROUP  EXPRESSION
  SeqNr   or         0      ${last_value}

Settings:
  delete_missing: true
  hash: sha256
  last_seen: every_run
  on_schema_change: append
  sql_password: ***
  url: jdbc:x://***@h/d
"""
    )


def test_no_secret_of_a_setting_is_shown(services, call):
    services(**lake())

    shown = [
        call("entities", *words, *form)
        for words in (["list"], ["show", "orders"], ["validate"])
        for form in ([], ["--json"])
    ]

    printed = "".join(each.out + each.err for each in shown)
    assert "s3cret" not in printed
    assert "p4ss" not in printed


def test_a_name_that_no_entity_has_is_told_its_nearest(services, call):
    services(**lake())

    answer = call("entities", "show", "order")

    assert (answer.code, answer.err) == (
        2,
        "error: no-match: 'order' matches no entity\n  hint: did you mean 'orders'?\n",
    )


def test_validate_tells_of_entities_alone(services, call):
    services(**lake(), **{"models/marts/daily.sql": "select * from {{ ref('nothing') }}"})

    found = call("entities", "validate")

    assert found.code == 0
    assert found.out.splitlines()[0].startswith(
        "entities/x.json:37:5: warning: last-value-without-lookback: "
    )
    assert found.out.splitlines()[2:] == ["0 errors, 1 warning"]
    assert call("entities", "validate", "--strict").code == 1


def test_findings_end_with_exit_1_and_no_state(services, call):
    root = services(**lake(colour="red"))

    found = call("entities", "validate", "--json")

    assert found.code == 1
    document = json.loads(found.out)
    assert [each["code"] for each in document["findings"]] == [
        "last-value-without-lookback",
        "unknown-key",
    ]
    assert (document["passed"], document["entities"]) == (False, 0)
    assert not list(root.glob(".penstock/state*"))


def test_entities_that_are_right_are_counted(services, call):
    services(**files(entity()))

    assert call("entities", "validate").out == "no findings: 1 entity\n"
    assert call("validate").out.endswith(" 0 seeds, 1 entity\n")


READERS = {"models/m.sql": "select ID from silver_aw.orders"}


def test_entities_are_listed_among_models(services, call):
    services(**lake(), **READERS)

    assert call("list", "--select", "+m").out == (
        "NAME              TABLE             STRATEGY  TAGS  FILE\n"
        "silver_aw.orders  silver_aw.orders  merge     -     entities/x.json\n"
        "m                 shop.m            view      -     models/m.sql\n"
    )
    document = json.loads(call("list", "--select", "group:avw", "--json").out)
    assert [(each["model"], each["kind"], each["strategy"]) for each in document["models"]] == [
        ("silver_aw.orders", "entity", "merge")
    ]


def test_the_graph_has_entities_and_what_they_read_whole(services, call):
    own = {**lake(settings={**SECRET, "bronze_table": "raw.orders"}), **READERS}
    services(**own)

    assert call("graph", "--select", "+m").out == (
        "raw.orders\n"
        "    │\n"
        "    └── silver_aw.orders (v1)\n"
        "            │\n"
        "            └── shop.m (v1)\n"
    )


def test_an_entity_is_shown_by_its_definition_not_by_sql(services, call):
    services(**lake())

    shown = call("show", "silver_aw.orders").out

    assert shown.endswith(
        """
Definition:
  merge into silver_aw.orders
  from /data/bronze/aw/orders, slices *.parquet
  column ID, businesskey
  column region, partition = 'EMEA'
  watermark or 0 SeqNr: ${last_value}
  key PK_orders
  hash sha256
  last_seen every_run
  delete_missing true
  prefix p_
  timezone Europe/Amsterdam
"""
    )
    assert "SQL:" not in shown
    assert "  path      /data/silver/aw/orders\n" in shown


def bronze(root, *files):
    for file in files:
        path = root / "lake" / "bronze" / "aw" / "orders" / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"xx")


def test_slices_are_listed_and_one_is_skipped_with_who_and_why(services, call):
    root = services(**files(entity(2, "orders"), environment={"root_folder": "lake"}))
    bronze(root, "a.parquet", "b.parquet", "c.parquet/_temporary/x")

    listed = call("entities", "slices", "2").out
    skipped = call("entities", "slices", "orders", "--skip", "b", "--reason", "bad keys")
    shown = json.loads(call("entities", "slices", "2", "--json").out)
    back = call("entities", "slices", "silver_aw.orders", "--unskip", "b.parquet").out

    assert listed == (
        "SLICE      STATUS      SIZE  PROCESSED AT  STEP  ROWS  WHY\n"
        "a.parquet  waiting      2 B  -             -     -\n"
        "b.parquet  waiting      2 B  -             -     -\n"
        "c.parquet  incomplete   0 B  -             -     -\n"
        "\n"
        "3 slices: 2 waiting, 1 incomplete\n"
    )
    assert skipped.code == 0
    assert "b.parquet  skipped   2 B  -             -     -     bad keys (" in skipped.out
    assert shown["model"] == "silver_aw.orders"
    assert [(each["name"], each["status"], each["why"]) for each in shown["slices"]] == [
        ("a.parquet", "waiting", None),
        ("b.parquet", "skipped", "bad keys"),
        ("c.parquet", "incomplete", None),
    ]
    assert shown["slices"][1]["who"]
    assert "b.parquet  waiting" in back


def test_mistakes_about_slices_are_exit_2_with_a_way_out(services, call):
    said = {"environment": {"root_folder": "lake"}}
    whole = entity(3, "whole", settings={"bronze_read": "whole"})
    bronze(services(**files(entity(2, "orders"), whole, **said)), "2025-07-01.parquet")

    def wrong(*words):
        answer = call("entities", "slices", *words)
        assert answer.code == 2
        return answer.err.removeprefix("error: ").splitlines()

    assert wrong("2", "--skip", "2025-07-02", "--reason", "x") == [
        "slice-not-found: silver_aw.orders has no slice '2025-07-02'",
        "  hint: near it: 2025-07-01.parquet",
    ]
    assert wrong("2", "--skip", "x")[0] == "reason-required: --skip needs a --reason"
    assert wrong("2", "--skip", "x", "--unskip", "y")[0].startswith("option-conflict: ")
    assert wrong("2", "--unskip", "2025-07-01") == [
        "slice-not-skipped: slice 2025-07-01.parquet of silver_aw.orders is not skipped",
        "  hint: it is waiting",
    ]
    assert wrong("3")[0] == (
        "no-slices: silver_aw.whole reads its source as a whole: it has no slices"
    )
    assert wrong("order")[1] == "  hint: did you mean 'orders'?"


def test_a_bronze_folder_that_is_not_there_is_told(services, call):
    services(**files(entity(2, "orders"), environment={"root_folder": "lake"}))

    answer = call("entities", "slices", "orders")

    assert answer.code == 1
    assert answer.err.startswith("entities/x.json:18:12: bronze-missing: the bronze folder ")
