"""Projects whose tables are built."""

import json
import shutil
from dataclasses import replace

import pytest
from deltalake import DeltaTable

from fakes.services import an_intent, built
from penstock.app.services.wire import Where, open_services
from penstock.core.steps.inputs import DeltaPin
from penstock.core.steps.token import write_token

FIELD = {"name": "id", "type": "integer", "nullable": True, "metadata": {}}
PINS = {"one": {}, "two": {"one": DeltaPin("id-one", 0)}}
FILES = {
    "models/sources.yml": None,
    "models/staging/users_clean.sql": None,
    "models/staging/log.sql": None,
    "models/marts/daily.sql": None,
    "models/m/one.sql": "{{ config(materialized='table') }}\nselect 1 as id\n",
    "models/m/two.sql": "{{ config(materialized='table') }}\nselect id from {{ ref('one') }}\n",
}


@pytest.fixture
def made(services, monkeypatch):
    """Leave what a run of two tables leaves, on a machine without Java."""
    root = services(**FILES)
    wired = open_services(Where(root))
    models = wired.project.models
    store = wired.writing.archive.store_id()
    for number, (name, pins) in enumerate(PINS.items(), start=1):
        built(wired, models[name], **pins)
        intent = replace(an_intent(models[name], **pins), step_seq=number)
        write_commit(root, name, 0, write_token(intent, "0.1.0", store))
    wired.close()
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    return root


def write_commit(  # what a commit says
    root,
    name,
    version,
    token="",
    operation="WRITE",
    *,
    changes_data=True,
    table_id="",
    warehouse="warehouse",
):
    log = root / warehouse / "m" / name / "_delta_log"
    log.mkdir(parents=True, exist_ok=True)
    file = {"path": f"{version}.parquet", "partitionValues": {}, "size": 1, "modificationTime": 0}
    metadata = {
        "id": table_id or f"id-{name}",
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps({"type": "struct", "fields": [FIELD]}),
        "partitionColumns": [],
        "configuration": {"delta.enableDeletionVectors": "true"},
    }
    actions = [
        {"commitInfo": {"timestamp": 0, "operation": operation, "userMetadata": token}},
        {"add": {**file, "dataChange": changes_data}},
    ]
    if version == 0:
        features = {"readerFeatures": ["deletionVectors"], "writerFeatures": ["deletionVectors"]}
        protocol = {"minReaderVersion": 3, "minWriterVersion": 7, **features}
        actions += [{"protocol": protocol}, {"metaData": metadata}]
    (log / f"{version:020d}.json").write_text("\n".join(map(json.dumps, actions)))


def test_a_run_without_changes_does_nothing_and_needs_no_java(made, call):
    answer = call("run")

    assert (answer.code, answer.err) == (0, "")
    assert answer.out == "nothing to do (2 models up to date)\n"
    assert not (made / ".penstock" / "logs").exists()
    assert len(list(made.glob("warehouse/m/*/_delta_log/*"))) == 2


def test_a_changed_comment_is_named_as_cosmetic_and_nothing_is_run(made, call):
    file = made / "models" / "m" / "one.sql"
    file.write_text(file.read_text() + "-- the first\n")

    answer = call("run")

    assert (answer.code, answer.err) == (0, "")
    assert answer.out == (
        "nothing to do (2 models up to date)\nSQL text changed, meaning unchanged. (one)\n"
    )
    assert not (made / ".penstock" / "logs").exists()


def test_without_its_state_every_table_is_unrecorded_until_it_is_rebuilt(made, call):
    shutil.rmtree(made / ".penstock")

    lost = call("status")
    plan = call("plan")
    rebuilt = call("state", "rebuild", "--yes")
    found = call("status")

    assert lost.out == (
        "one: unrecorded\n"
        "    its log holds commits of penstock that the state does not know\n"
        "two: unrecorded\n"
        "    its log holds commits of penstock that the state does not know\n"
        "\n"
        "2 of 2 partitions drifted. Next: penstock state rebuild\n"
    )
    assert plan.code == 1
    assert "hint: restore the records from the tables' logs: penstock state rebuild" in plan.out
    assert (rebuilt.code, rebuilt.out) == (0, "2 steps of 2 models recorded\n")
    assert found.out == "All current ✓\n"


def test_a_foreign_commit_of_data_is_tampering_and_optimize_is_not(made, call):
    write_commit(made, "one", 1, operation="OPTIMIZE", changes_data=False)
    optimized = call("status")
    write_commit(made, "one", 2, operation="UPDATE")

    assert optimized.out == "All current ✓\n"
    assert call("status").out == (
        "one: tampered\n"
        "    version 2 UPDATE at 1970-01-01 00:00:00 UTC\n"
        "two: upstream_changed, pending\n"
        "    after one\n"
        "\n"
        "1 of 2 partitions drifted, 1 pending. Next: penstock sync --cascade\n"
    )


def test_a_log_that_was_cleaned_up_is_told_by_status_plan_and_run(made, call):
    for version, operation in enumerate(("OPTIMIZE", "SET TBLPROPERTIES", "OPTIMIZE"), start=1):
        write_commit(made, "one", version, operation=operation, changes_data=False)
    DeltaTable(str(made / "warehouse" / "m" / "one")).create_checkpoint()
    for version in (0, 1):
        (made / "warehouse" / "m" / "one" / "_delta_log" / f"{version:020d}.json").unlink()

    status, plan, run = call("status"), call("plan"), call("run")

    gap = "log-gap: version 1 of the Delta log of m.one is missing; its changes are unknown"
    assert status.out == f"one: current\n    {gap}\n\nAll current ✓\n"
    assert [answer.code for answer in (status, plan, run)] == [0, 0, 0]
    for answer in (plan, run):
        assert f"one: {gap}" in answer.out + answer.err
        assert "nothing to do (2 models up to date)" in answer.out


def test_rows_that_others_changed_are_accepted_with_a_reason_and_without_java(made, call):
    write_commit(made, "one", 1, operation="UPDATE")

    silent = call("accept", "one")
    accepted = call("accept", "one", "--reason", "ticket 4711", "--json")
    status, history = call("status"), call("history", "one", "--verbose")
    again = call("accept", "one", "--reason", "ticket 4711")

    assert (silent.code, "--reason" in silent.err) == (2, True)
    assert accepted.code == 0
    document = json.loads(accepted.out)
    assert (document["command"], document["reason"]) == ("accept", "ticket 4711")
    assert [each["version"] for each in document["commits"]] == [1]
    assert "one: tampered" not in status.out
    assert "two: upstream_changed" in status.out
    assert "accept: ticket 4711" in history.out
    assert (again.code, "nothing-to-accept" in again.err) == (2, True)


def test_the_table_of_another_store_at_the_same_version_is_tampered(made, call):
    shutil.rmtree(made / "warehouse" / "m" / "one")
    token = {"penstock": "0.1.0", "store": "store-2", "project": "billing", "step": "theirs"}
    write_commit(made, "one", 0, json.dumps(token), table_id="id-theirs")

    status, run = call("status"), call("run", "--select", "one")

    assert status.out == (
        "one: tampered\n"
        "    another table took its place, of project 'billing' "
        "(state store store-2)\n"
        "    table-of-another-store: m.one is written by project 'billing' (state store store-2), "
        "whose records are not those of this one: give it another schema or alias, or the target "
        "another warehouse, or take the table from them, if they no longer write it: "
        "penstock run --select one --adopt\n"
        "two: upstream_changed, pending\n"
        "    after one\n"
        "\n"
        "1 of 2 partitions drifted, 1 pending. Next: penstock run --select one --adopt\n"
    )
    assert run.code == 1
    assert "penstock run --select one --adopt" in run.out + run.err
    assert "table-of-another-store: m.one is written by project 'billing'" in run.out + run.err


@pytest.mark.parametrize("damage", [b"", b"\xff\xfe", b"[1, 2]\n", b"{}\n{", None])
def test_a_damaged_log_is_one_models_trouble_and_its_file_put_back_mends_it(made, call, damage):
    (made / "models" / "m" / "three.sql").write_text("{{ config(materialized='table') }}\nselect 3")
    log = made / "warehouse" / "m" / "one" / "_delta_log" / f"{0:020d}.json"
    whole = log.read_bytes()
    log.unlink()
    if damage is None:
        log.mkdir()
    else:
        log.write_bytes(damage)

    status, plan, run = call("status"), call("plan"), call("run", "--select", "one")
    log.rmdir() if damage is None else log.unlink()
    log.write_bytes(whole)
    mended = call("run", "--select", "one")

    assert (status.code, plan.code, run.code, mended.code) == (0, 1, 1, 0)
    assert "one: unreadable" in status.out
    assert "three: never_run" in status.out
    assert "models/m/one.sql:1: log-unreadable" in plan.out
    assert "1. three" in plan.out
    assert "log-unreadable" in run.out + run.err
    assert mended.out == "nothing to do (1 model up to date)\n"


def test_a_dropped_table_is_missing_and_the_plan_says_that_it_is_rebuilt(made, call):
    shutil.rmtree(made / "warehouse" / "m" / "one")

    assert call("status").out == (
        "one: missing\n"
        "    the table is gone\n"
        "two: upstream_changed, pending\n"
        "    after one\n"
        "\n"
        "1 of 2 partitions drifted, 1 pending. Next: penstock sync --cascade\n"
    )
    assert "     the table is gone: full rebuild from all inputs" in call("plan").out.splitlines()
