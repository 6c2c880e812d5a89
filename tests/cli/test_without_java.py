"""Commands that only look need no Java and load no parser twice."""

import json
import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

GENERATE = Path(__file__).parents[2] / "bench" / "generate.py"
NO_JAVA = {"PATH": "/nowhere", "HOME": os.environ.get("HOME", "/")}
PARSERS = {"sqlglot", "jinja2", "yaml", "pydantic"}
SPARK = {"pyspark", "py4j", "delta"}
WITH_WHAT_IT_LOADED = """\
import sys
from penstock.ui.cli.main import main
code = main(sys.argv[1:])
print(*sorted({name.partition(".")[0] for name in sys.modules}), file=sys.stderr)
sys.exit(code)
"""
NEED_NO_SPARK = [
    ["init", "another"],
    ["validate"],
    ["list"],
    ["show", "log"],
    ["graph"],
    ["entities", "list"],
    ["plan"],
    ["run", "--dry-run"],
    ["status"],
    ["watermark", "set", "log", "2024-03-01"],
    ["watermark", "show", "log"],
    ["watermark", "reset", "log", "--yes"],
    ["recover"],
    ["state", "export"],
    ["state", "rebuild", "--yes"],
    ["unlock", "staging.log", "--yes"],
    ["schema"],
    ["completion", "bash"],
]


@pytest.fixture
def no_java(monkeypatch):
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")


def test_every_command_that_needs_no_spark_works_without_java(no_java, services, call):
    services()

    answers = {" ".join(words): call(*words) for words in NEED_NO_SPARK}

    assert {words: answer.code for words, answer in answers.items()} == dict.fromkeys(answers, 0)


def test_without_java_a_run_says_what_is_missing_and_how_to_install_it(
    no_java, services, call, tmp_path, monkeypatch
):
    services()
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "apt-get").touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))

    answer = call("run")

    assert answer.code == 2
    assert answer.err == (
        "error: java-missing: Spark needs Java 17 or newer and none was found\n"
        "  hint: install it with: sudo apt-get install -y openjdk-17-jre-headless\n"
    )


@pytest.fixture(scope="module")
def generated(tmp_path_factory):
    """A generated project with its sources in place and everything parsed once."""
    root = tmp_path_factory.mktemp("generated")
    runpy.run_path(str(GENERATE))["main"](root, 60)
    for number in range(20):
        an_empty_table(root / "warehouse" / "raw" / f"events_{number}")
    asked(root, "list")
    return root


def an_empty_table(folder):
    """Write a Delta table of no rows."""
    field = {"name": "loaded_at", "type": "timestamp", "nullable": True, "metadata": {}}
    metadata = {
        "id": f"id-{folder.name}",
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps({"type": "struct", "fields": [field]}),
        "partitionColumns": [],
        "configuration": {},
    }
    actions = [{"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}, {"metaData": metadata}]
    (folder / "_delta_log").mkdir(parents=True)
    (folder / "_delta_log" / f"{0:020d}.json").write_text("\n".join(map(json.dumps, actions)))


def asked(root, *words):
    """Run a command where no Java can be found; give what it printed and what it loaded."""
    told = subprocess.run(
        [sys.executable, "-c", WITH_WHAT_IT_LOADED, *words],
        cwd=root,
        env=NO_JAVA,
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.returncode == 0, told.stdout + told.stderr
    return told.stdout, set(told.stderr.split())


def test_with_a_warm_cache_list_loads_no_parser_and_no_spark(generated):
    printed, loaded = asked(generated, "list")

    assert len(printed.splitlines()) == 61
    assert loaded & (PARSERS | SPARK) == set()


def test_with_a_warm_cache_plan_loads_no_parser_and_no_spark(generated):
    printed, loaded = asked(generated, "plan")

    assert printed.splitlines()[-1] == "Total: 60 steps. Nothing was run."
    assert loaded & (PARSERS | SPARK) == set()


def test_with_a_warm_cache_status_loads_no_parser_and_no_spark(generated):
    printed, loaded = asked(generated, "status")

    assert printed.splitlines()[-1] == "60 of 60 partitions drifted. Next: penstock sync"
    assert loaded & (PARSERS | SPARK) == set()


def test_a_changed_file_is_parsed_again(generated):
    file = next((generated / "models" / "staging").rglob("model_00001.sql"))
    file.write_text(file.read_text() + "-- changed\n")

    _, loaded = asked(generated, "list")

    assert {"sqlglot", "jinja2"} <= loaded
