"""The project of an earlier load is believed only where nothing has changed."""

from __future__ import annotations

import os
import pickle
import random
import shutil
import stat
import zlib
from pathlib import Path

import pytest

import penstock.strategies.registry  # noqa: F401  registers the strategies
from penstock.project import pipeline, project_cache
from penstock.project.load import load_project

FILES = {
    "penstock.yml": "name: shop\nvars: {v: 1}\ntargets: {dev: {}, prod: {schema_prefix: p_}}\n",
    "models/a.sql": "select '{{ env_var(\"WHO\", \"x\") }}' as w, {{ var('v') }} as v",
    "models/b.sql": "{{ config(materialized='table') }}select * from {{ ref('a') }}",
    "models/m.yml": "models: [{name: b, columns: [{name: w, tests: [not_null]}]}]\n",
}


@pytest.fixture
def shop(tmp_path) -> Path:
    """A project that was loaded once."""
    root = tmp_path / "shop"
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    load_project(root, environ={})
    return root


@pytest.fixture
def linked(monkeypatch):
    """Collect the projects that are linked anew."""
    seen = []

    def spy(files):
        seen.append(files.settings.name)
        return link(files)

    link = pipeline.PHASES[0]
    monkeypatch.setattr(pipeline, "PHASES", (spy, *pipeline.PHASES[1:]))
    return seen


def kept(root: Path) -> Path:
    return root / ".penstock/cache/project.bin"


def text_of_a(root: Path, **how) -> str:
    return load_project(root, **{"environ": {}, **how}).models["a"].query.text


def test_nothing_is_linked_where_nothing_has_changed(shop, linked):
    again = load_project(shop, environ={})

    assert linked == []
    assert again == load_project(shop, environ={}, use_cache=False)
    assert [each.name for each in again.models["b"].checks.after] == ["not_null_w"]


def test_a_file_of_the_same_size_and_time_is_another_file(shop):
    path = shop / "models/a.sql"
    times = path.stat()
    path.write_text(path.read_text().replace("as w", "as u"))
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))

    assert text_of_a(shop) == "select 'x' as u, 1 as v"


def test_a_project_that_was_moved_or_copied_is_another_one(shop, tmp_path):
    shutil.copytree(shop, tmp_path / "copy")

    assert (
        load_project(tmp_path / "copy", environ={}).target.warehouse == f"{tmp_path}/copy/warehouse"
    )
    assert load_project(tmp_path / "copy", environ={}).root == f"{tmp_path}/copy"


def test_each_target_has_its_own(shop, linked):
    found = [
        str(load_project(shop, environ={}, target=name).models["b"].table)
        for name in ("dev", "prod", None, "prod", "dev")
    ]

    assert found == ["shop.b", "p_shop.b", "shop.b", "p_shop.b", "shop.b"]
    assert linked == ["shop", "shop"]
    assert len([*shop.glob(".penstock/cache/project*.bin")]) == 3


def test_the_target_of_the_environment_counts(shop):
    found = load_project(shop, environ={"PENSTOCK_TARGET": "prod"}).models["b"].table

    assert str(found) == "p_shop.b"


def test_variables_count_where_templates_read_them(shop, linked):
    assert text_of_a(shop, environ={"WHO": "me"}) == "select 'me' as w, 1 as v"
    assert text_of_a(shop, environ={"WHO": ""}) == "select '' as w, 1 as v"
    assert text_of_a(shop, vars={"v": 2}) == "select 'x' as w, 2 as v"
    assert text_of_a(shop) == "select 'x' as w, 1 as v"
    linked.clear()
    assert text_of_a(shop, environ={"OTHER": "me"}) == "select 'x' as w, 1 as v"
    assert linked == []


def test_edited_code_of_penstock_and_other_parsers_load_anew(shop, linked, monkeypatch):
    for name in ("_own_code", "versions"):
        monkeypatch.setattr(project_cache, name, lambda: "next")
        load_project(shop, environ={})

    assert linked == ["shop", "shop"]


def test_damaged_bytes_are_thrown_away(shop):
    plain, whole, chance = load_project(shop, environ={}), kept(shop).read_bytes(), random.Random(0)  # noqa: S311  no secret
    for _ in range(40):
        at = chance.randrange(len(whole))
        for damaged in (whole[:at], whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :]):
            kept(shop).write_bytes(damaged)
            assert load_project(shop, environ={}) == plain
            assert kept(shop).read_bytes() == whole


class Call:
    def __init__(self, made):
        self.made = made

    def __reduce__(self):
        return self.made


@pytest.mark.parametrize(
    "made",
    [
        (os.mkdir, ("HERE",)),
        (exec, ("import os; os.mkdir('HERE')",)),
        (getattr, (project_cache.Strategy, "register")),
        (project_cache.import_module, ("this",)),
    ],
)
def test_a_file_can_call_nothing_but_values_of_ours(shop, made):
    here = str(shop / "here")
    made = (made[0], tuple(a.replace("HERE", here) if isinstance(a, str) else a for a in made[1]))
    head, _, rest = kept(shop).read_bytes().partition(b"\n")
    rest = rest[: rest.index(b"\n") + 1] + pickle.dumps(Call(made))
    kept(shop).write_bytes(f"{zlib.crc32(rest)} {head.split()[1].decode()}\n".encode() + rest)

    assert load_project(shop, environ={}).models.keys() == {"a", "b"}
    assert not (shop / "here").exists()


def test_a_file_that_others_can_write_is_not_read(shop, linked):
    kept(shop).chmod(0o664)

    load_project(shop, environ={})

    assert linked == ["shop"]
    assert stat.S_IMODE(kept(shop).stat().st_mode) == 0o600


def test_a_folder_where_nothing_can_be_written_loads(shop):
    shutil.rmtree(shop / ".penstock/cache")
    (shop / ".penstock/cache").write_text("in the way")

    assert text_of_a(shop) == "select 'x' as w, 1 as v"


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("models/a.sql", "select '{{ env_var(\"DBT_ENV_SECRET_X\") }}' as w"),
        ("models/a.sql", "select '{{ env_var(\"API_TOKEN\") }}' as w"),
        ("models/m.yml", "models: [{name: b, meta: {password: tr0ub4dor}}]"),
        ("models/m.yml", "models: [{name: b, description: '{{ env_var(\"API_TOKEN\") }}'}]"),
        ("models/m.yml", "models: [{name: b, description: '{{ env_var(\"PLAIN\") }}'}]"),
        ("penstock.yml", "name: shop\nvars: {v: '{{ env_var(\"API_TOKEN\") }}'}\n"),
    ],
)
def test_no_secret_is_in_the_file(shop, path, text):
    environ = dict.fromkeys(("DBT_ENV_SECRET_X", "API_TOKEN", "PLAIN"), "tr0ub4dor")
    kept(shop).unlink()
    (shop / path).write_text(text)

    load_project(shop, environ=environ)

    assert [p.name for p in shop.rglob("*.bin") if b"tr0ub4dor" in p.read_bytes()] == []


def test_a_writer_that_was_killed_leaves_what_was_there(shop, linked):
    (shop / ".penstock/cache/project.abc.tmp").write_bytes(kept(shop).read_bytes()[:100])

    load_project(shop, environ={})

    assert linked == []


def test_python_models_are_loaded_each_time(shop, linked):
    (shop / "models/p.py").write_text(
        "from penstock import table\n\n@table()\ndef p(a):\n    return a\n"
    )

    for _ in range(2):
        load_project(shop, environ={})

    assert linked == ["shop", "shop"]
    assert b"def p(a)" not in kept(shop).read_bytes()
