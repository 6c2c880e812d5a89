"""What a run leaves behind, and what other people of the machine may see, holds no secret."""

import base64
import json
import os
import re
import sqlite3
import stat
import subprocess
import sys
import textwrap
import threading
import time
import zlib
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fakes import entity_files
from fakes.command import PENSTOCK

SECRETS = {
    "DBT_ENV_SECRET_TOKEN": "tok-9f8e'7d",
    "PENSTOCK_SECRET_WORD": "open/Ses@me-41",
    "LAKE_KEY": "lake-Key-5521",
    "URL_PASSWORD": "ur1@p/ss-77",
}
OPEN = {"JAVA_PASSWORD": "j4va-0pen-88"}
PLANTED = (
    *("tok-9f8e", "Ses@me-41", "Ses%40me", "lake-Key-5521", "ss-77", "j4va-0pen-88", "bobby-user"),
)
ROTATED = {"DBT_ENV_SECRET_TOKEN": "another-one"}
FILES = {
    "penstock.yml": """\
        name: shop
        vars: {word: "{{ env_var('PENSTOCK_SECRET_WORD') }}"}
        entities: {environment: {root_folder: lake}}
        targets:
          dev:
            spark:
              master: "local[1]"
              driver_memory: 1g
              conf:
                fs.s3a.secret.key: "{{ env_var('LAKE_KEY') }}"
                spark.hadoop.my.url: "jdbc:x://bobby-user:{{ env_var('URL_PASSWORD') }}@h/d"
                spark.driver.extraJavaOptions: >-
                  -XX:TieredStopAtLevel=1 -Dstore.password={{ env_var('JAVA_PASSWORD') }}
        """,
    "models/m/by_sql.sql": """\
        {{ config(materialized='table', description='at ' ~ env_var('DBT_ENV_SECRET_TOKEN')) }}
        select 1 as id, '{{ env_var("DBT_ENV_SECRET_TOKEN") | replace("'", "''") }}' = '' as same
        """,
    "models/m/seen.sql": "select id, '{{ var(\"word\") }}' = '' as same from {{ ref('by_sql') }}\n",
    "models/m/raises.sql": """\
        {{ config(materialized='table') }}
        select id, cast(raise_error('no {{ var("word") }} at x://bobby-user:pw@h') as string) as x
        from {{ ref('by_sql') }}
        """,
    "models/m/casts.sql": """\
        {{ config(materialized='table') }}
        select cast('{{ var("word") }}' as int) as x
        """,
    "models/m/checks.yml": """\
        models:
          - name: by_sql
            checks:
              after:
                - type: sql
                  name: warned
                  severity: warning
                  sql: "select '{{ env_var('PENSTOCK_SECRET_WORD') }}' as word from m.by_sql"
        """,
    "models/m/days.yaml": """\
        name: days
        destination: {dataset: m, table: days, partition: {field: date, type: DAY}}
        versions:
          - version: 1
            effective_from: 2024-12-02
            sql: >
              select @partition_date as date, '{{ env_var('PENSTOCK_SECRET_WORD') }}' = '' as same
            schema: [{name: date, type: DATE}, {name: same, type: BOOL}]
        """,
    "models/m/functions.py": """\
        import os
        from penstock import model, table

        @table
        def by_function(spark):
            word = os.environ["PENSTOCK_SECRET_WORD"]
            print("the word is", word)
            raise RuntimeError(f"no door opens at {word}")
        """,
    "entities/x.json": entity_files.document(
        entity_files.entity(
            process="full",
            columns=[
                entity_files.KEY,
                {"name": "made", "expression": "ID = '{{ env_var('PENSTOCK_SECRET_WORD') }}'"},
            ],
            settings={"sql_password": "{{ env_var('LAKE_KEY') }}"},
        )
    ),
}


class Onlooker:
    """Collects the command lines of all processes, as anybody on the machine may."""

    def __init__(self):
        self.seen = set()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look)

    def __enter__(self):
        self._thread.start()
        return self.seen

    def __exit__(self, *_):
        self._over.set()
        self._thread.join()

    def _look(self):
        while not self._over.is_set():
            for file in Path("/proc").glob("[0-9]*/cmdline"):
                with suppress(OSError):
                    self.seen.add(file.read_bytes().decode("utf-8", "replace"))
            time.sleep(0.02)


def written(root):
    """Give what lies in files that penstock wrote: as they are, and what is packed in them."""
    own = {root / name for name in FILES}
    for path in (each for each in root.rglob("*") if each.is_file() and each not in own):
        content = path.read_bytes()
        yield path, content.decode("utf-8", "replace")
        if path.name == "parse.jsonl":
            for packed in re.findall(r'"(eJ[\w+/=]+)"', content.decode()):
                yield path, zlib.decompress(base64.b64decode(packed)).decode()
        if content.startswith(b"SQLite format 3"):
            with sqlite3.connect(path) as database:
                tables = database.execute("select name from sqlite_master where type = 'table'")
                for (table,) in tables.fetchall():
                    for row in database.execute(f'select * from "{table}"'):
                        yield path, repr([*map(unpacked, row)])


def unpacked(cell):
    return zlib.decompress(cell).decode() if isinstance(cell, bytes) else cell


def leaks(texts):
    """Give where a planted word stands, with what is around it."""
    found = ((str(name), text, text.find(word)) for name, text in texts for word in PLANTED)
    return sorted({(name, text[max(at - 80, 0) : at + 40]) for name, text, at in found if at >= 0})


@pytest.fixture
def shop(tmp_path):
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
    bronze = tmp_path / "lake/bronze/aw/x"
    bronze.mkdir(parents=True)
    pq.write_table(pa.table({"ID": ["1"]}), bronze / "a.parquet")
    return tmp_path


def call(root, *words, **environ):
    return subprocess.run(
        [PENSTOCK, *words],
        cwd=root,
        env={**os.environ, **SECRETS, **OPEN, **environ},
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )


def test_commands_that_start_no_spark_show_and_keep_no_secret(shop):
    commands = ("plan --verbose --as-of 2024-12-03", "show by_sql --json", "entities show x")

    told = {words: call(shop, *words.split()) for words in commands}

    assert {words: each.returncode for words, each in told.items()} == dict.fromkeys(commands, 0)
    assert leaks((words, each.stdout + each.stderr) for words, each in told.items()) == []
    assert "at ***" in told["show by_sql --json"].stdout
    assert leaks(written(shop)) == []
    assert stat.S_IMODE((shop / ".penstock/cache/parse.jsonl").stat().st_mode) == 0o600


@pytest.mark.matrix
def test_nothing_that_a_run_writes_or_starts_shows_a_secret(shop):
    with Onlooker() as lines:
        ran = call(shop, "run", "--as-of", "2024-12-03")
    commands = (
        *("plan --verbose", "status --verbose", "diff", "audit --diff", "show by_sql", "list"),
        *("history by_sql --show-sql", "show by_function", "entities show x", "validate", "doctor"),
        *("state export", "plan --json", "show by_sql --json", "status --json"),
    )
    told = {words: call(shop, *words.split()) for words in commands}

    jvm = next(line for line in lines if "SparkSubmit" in line and str(shop) in line)
    assert "spark.sql.session.timeZone" in jvm
    assert leaks(("a command line", line) for line in lines) == []
    assert leaks([("run", ran.stdout + ran.stderr)]) == []
    assert leaks((words, each.stdout + each.stderr) for words, each in told.items()) == []
    assert leaks(written(shop)) == []
    says = ran.stdout + ran.stderr
    assert "the word is ***" in says
    assert "no door opens at ***" in says
    assert "spark-cast-invalid-input: The value '***' of the type" in says
    assert "Done: 4 steps" in says, says
    logs = [text for path, text in written(shop) if path.suffix == ".log"]
    assert any("no *** at x://***@h" in text for text in logs)
    for name in ("target/manifest.json", "target/run_results.json", "cache/parse.jsonl"):
        assert stat.S_IMODE((shop / ".penstock" / name).stat().st_mode) == 0o600

    # checksums are those of the true texts: nothing drifted, and another secret is a change
    current = json.loads(told["status --json"].stdout)["models"]
    drifted = sorted(m["model"] for m in current if m["states"])
    assert drifted == ["by_function", "casts", "days", "raises"]
    rotated = call(shop, "plan", "--select", "by_sql", **ROTATED)
    assert "by_sql will be re-run\n\nSQL changed in values that are never shown." in rotated.stdout


@pytest.mark.matrix
def test_a_session_package_that_reads_a_secret_leaves_none_behind(tmp_path):
    assert call(tmp_path, "init", "web", "--template", "sessions").returncode == 0
    root = tmp_path / "web"
    package = root / "sessions" / "web.yml"
    word = "{{ env_var('PENSTOCK_SECRET_WORD') }}"
    revenue = f"sum(if(page_title = '{word}', 0, amount))"
    package.write_text(package.read_text().replace("sum(amount)", revenue))
    deliver = [sys.executable, "visits.py", "1"]
    subprocess.run(deliver, cwd=root, check=True, capture_output=True, timeout=120)

    ran = call(root, "run", "--as-of", "2024-03-04")
    commands = ("plan", "status --verbose", "show web_sessions", "state export", "sessions limits")
    told = [call(root, *words.split(), *(["web"] * ("limits" in words))) for words in commands]

    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert (
        leaks([("run", ran.stdout + ran.stderr), *(("told", e.stdout + e.stderr) for e in told)])
        == []
    )
    assert leaks(written(root)) == []
