"""With `--json` every command prints one JSON document and nothing else."""

import json

import pytest

WITHOUT_JVM = [
    ["validate"],
    ["list"],
    ["list", "--select", "daily"],
    ["show", "users_clean"],
    ["graph"],
    ["graph", "--format", "dot"],
    ["plan"],
    ["run", "--dry-run"],
    ["status"],
    ["metrics"],
    ["watermark", "show"],
    ["watermark", "show", "log", "--history"],
    ["watermark", "set", "log", "2024-03-01"],
    ["init", "another"],
    ["recover"],
    ["seed"],
    ["state", "export"],
    ["state", "rebuild", "--yes"],
    ["unlock", "staging.log"],
    ["schema"],
    ["schema", "--write"],
    ["completion", "bash"],
    ["doctor"],
    ["engine", "status"],
]


@pytest.mark.parametrize("words", WITHOUT_JVM, ids=" ".join)
def test_stdout_is_one_document(words, services, call):
    services()

    answer = call(*words, "--json")

    assert isinstance(json.loads(answer.out), dict)
    assert answer.out.endswith("}\n")


@pytest.mark.parametrize("words", WITHOUT_JVM, ids=" ".join)
def test_without_json_a_command_prints_plain_text(words, services, call):
    services()

    answer = call(*words)

    assert "\x1b" not in answer.out + answer.err


def test_a_command_that_only_looks_leaves_no_state_behind(services, call):
    root = services()

    for words in (["validate"], ["list"], ["plan"], ["status"], ["show", "log"], ["recover"]):
        call(*words)

    assert list(root.glob(".penstock/state*")) == []


def test_plan_and_dry_run_are_one_document(services, call):
    services()

    plan, dry = (json.loads(call(*w, "--json").out) for w in (["plan"], ["run", "--dry-run"]))

    times = plan.pop("run_timestamp"), dry.pop("run_timestamp")
    assert times[0] < times[1]
    assert plan == dry
    assert [(m["model"], m["status"], m["reason"]) for m in plan["models"]] == [
        ("log", "planned", "never_run"),
        ("users_clean", "planned", "never_run"),
        ("daily", "planned", "never_run"),
    ]


def test_the_project_may_be_the_first_argument(services, call, monkeypatch, tmp_path_factory):
    root = services()
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))

    answer = call("plan", str(root), "--select", "log", "--env", "prod")

    assert answer.out == (
        "Execution plan (topological order):\n"
        "  1. log  append  first build  reads its inputs whole\n"
        "\n"
        "Total: 1 step. Nothing was run.\n"
    )
