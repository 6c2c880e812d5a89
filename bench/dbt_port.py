"""What becomes of dbt projects when penstock imports them, beside what dbt builds of them.

    python dbt_port.py PROJECT… --dbt COMMAND --profiles DIR [--vars YAML] [--keep DIR]
                       [--select SELECTORS] [--only SIDE] [--again DIR]

PROJECT is the folder of a dbt project with its packages in `dbt_packages/`; nothing is written to
it. COMMAND is a dbt with dbt-spark's `session` method, in an environment of its own; DIR holds a
`profiles.yml` whose first profile reads the folder of the warehouse from DBT_WAREHOUSE.

Prints, for each project, how many models are without a finding as they are (their files, and a
`penstock.yml` beside), how many run after `penstock import dbt`, and each other one with its
reason; then how many of the tables that both built hold the same rows, and each other one with the
columns that differ. Both sides seed the same files and build everything once, or what SELECTORS
name in words that both know.

SIDE is `ours`, `dbt` or `rows`: only that part, in the folder of `--keep`. With `--again`, both
sides build there once more, after the files of DIR replace those of both copies: seeds with other
rows, for incremental models and snapshots.

Rows are compared by their number and by the sum of the hashes of each column's values. Columns that
hold the time of the run are left out (`dbt_valid_from` of first versions, and what is made of it);
of `dbt_valid_to` counts whether a version is closed.
A floating-point number counts with nine digits, because sums are added in any order.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dbt_port_rows import digest

from penstock.app.commands.query import frame
from penstock.app.services.wire import Where, open_services

OF_THE_RUN = {"dbt_valid_from", "dbt_scd_id", "dbt_updated_at"}
PENSTOCK = Path(sys.executable).with_name("penstock")
Digests = Mapping[str, Mapping[str, Any] | None]


def build_with_dbt(project: Path, work: Path, asked: argparse.Namespace) -> Mapping[str, str]:
    """Build a copy of a project with dbt; give table → status."""
    place, warehouse = work / "dbt", work / "lake" / "warehouse"
    if asked.again is None:
        shutil.copytree(project, place, symlinks=True)
    warehouse.mkdir(parents=True, exist_ok=True)
    built: dict[str, str] = {}
    for command in ("seed", "run", "snapshot"):
        words = [*asked.dbt.split(), command, "--vars", asked.vars]
        words += ["--select", *asked.select.split()] if asked.select and command != "seed" else []
        with (work / f"dbt-{command}.txt").open("w") as log:
            environ = environment_of_dbt(work, asked)
            subprocess.run(words, cwd=place, env=environ, stdout=log, stderr=log, check=False)
        results = json.loads((place / "target" / "run_results.json").read_text())["results"]
        nodes = json.loads((place / "target" / "manifest.json").read_text())["nodes"]
        for each in results:
            node = nodes[each["unique_id"]]
            if node["resource_type"] == "operation":
                continue
            built[f"{node['schema']}.{node['alias']}".lower()] = each["status"]
            if each["status"] not in ("success", "skipped"):
                print(f"  dbt {each['status']}: {node['name']}: {str(each['message'])[:300]}")
    (work / "dbt-built.json").write_text(json.dumps(built))
    return built


def environment_of_dbt(work: Path, asked: argparse.Namespace) -> dict[str, str]:
    """Give the variables of a process that runs dbt."""
    return os.environ | {
        "DBT_WAREHOUSE": str(work / "lake" / "warehouse"),
        "DBT_PROFILES_DIR": str(asked.profiles),
        "DBT_SEND_ANONYMOUS_USAGE_STATS": "false",
    }


def rows_of_dbt(work: Path, tables: list[str], asked: argparse.Namespace) -> Digests:
    """Give the digests of dbt's tables, read in the environment that built them."""
    named = work / "tables.txt"
    named.write_text("\n".join(tables))
    python = Path(asked.dbt.split()[0]).with_name("python")
    words = [python, Path(__file__).with_name("dbt_port_rows.py"), asked.profiles, named]
    with (work / "dbt-rows.txt").open("w") as log:
        environ = environment_of_dbt(work, asked)
        done = subprocess.run(words, env=environ, stdout=subprocess.PIPE, stderr=log, check=True)
    said: Digests = json.loads(done.stdout)
    return said


def penstock(place: Path, *words: str, profiles: Path | None = None) -> dict[str, Any]:
    """Run a command of penstock in a folder; give what it says as JSON, {} if it says none."""
    environ = os.environ | ({"DBT_PROFILES_DIR": str(profiles)} if profiles else {})
    command = [PENSTOCK, *words, "--json"]
    done = subprocess.run(
        command, cwd=place, env=environ, capture_output=True, text=True, check=False
    )
    (place / f"said-{words[0]}.txt").write_text(f"{done.stdout}\n{done.stderr}")
    try:
        said: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        return {}
    return said


def findings(place: Path) -> Mapping[str, str]:
    """Give file → the first thing that `validate` finds wrong with it."""
    said = penstock(place, "validate")
    wrong: dict[str, str] = {}
    for each in said.get("findings", said.get("error", {}).get("findings", [])):
        if each.get("severity") not in ("warning", "info"):
            wrong.setdefault(each.get("file", ""), f"{each['code']}: {each['message']}")
    return wrong


def unchanged(project: Path, work: Path) -> tuple[int, int]:
    """Give how many model files have no finding as they are, and how many files there are."""
    place = work / "unchanged"
    for folder in ("models", "macros", "seeds"):
        if (project / folder).is_dir():
            shutil.copytree(project / folder, place / folder)
    (place / "penstock.yml").write_text("name: unchanged\n")
    wrong = findings(place)
    files = [path.relative_to(place).as_posix() for path in place.glob("models/**/*.sql")]
    return len([path for path in files if path not in wrong]), len(files)


def build_with_penstock(project: Path, work: Path, asked: argparse.Namespace) -> Mapping[str, str]:
    """Import a project and build it; give model → status, and print what stands in the way."""
    place = work / "penstock"
    ran = place / ".penstock" / "target" / "run_results.json"
    if asked.again is None:
        words = ("import", "dbt", str(project), "--output", str(place))
        said = penstock(work, *words, profiles=asked.profiles)
        print("  import:", json.dumps(said.get("counts", said))[:400])
    for path, reason in findings(place).items():
        print(f"  finding: {path}: {reason}")
    chosen = ["--select", asked.select] if asked.select else []
    for command in (["seed"], ["run", *chosen]):
        ran.unlink(missing_ok=True)
        penstock(place, *command, "--vars", asked.vars)
    results = json.loads(ran.read_text())["results"] if ran.is_file() else []
    for each in results:
        if each["status"] in ("error", "skipped"):
            print(f"  {each['status']}: {each['unique_id']}: {str(each.get('message'))[:200]}")
    penstock(place, "snapshot", "run", *chosen, "--vars", asked.vars)  # fails if there are none
    models = [each for each in results if each["unique_id"].startswith("model.")]
    return {each["unique_id"].split(".")[2]: each["status"] for each in models}


def rows_of_penstock(work: Path) -> Digests:
    """Give table → the digest of its rows."""
    services = open_services(Where(work / "penstock"))
    made: dict[str, Mapping[str, Any] | None] = {}
    try:
        held = [*services.project.models.values(), *services.project.seeds.values()]
        for each in held:
            table = str(each.table).lower()
            try:
                made[table] = digest(frame(services, f"select * from {table}"))
            except Exception as error:  # noqa: BLE001  it is printed, and the next table follows
                print(f"  unreadable: {table}: {str(error)[:200]}")
    finally:
        services.close()
    return made


def compare(theirs: Digests, ours: Digests) -> None:
    """Print how many tables are equal, and what differs in the others."""
    both = sorted(name for name in theirs if theirs[name] and ours.get(name))
    different = 0
    for table in both:
        one, other = theirs[table], ours[table]
        assert one is not None
        assert other is not None
        names = (one["columns"].keys() | other["columns"].keys()) - OF_THE_RUN
        wrong = sorted(n for n in names if one["columns"].get(n) != other["columns"].get(n))
        if one["rows"] != other["rows"] or wrong:
            different += 1
            print(f"  differs: {table}: {one['rows']} and {other['rows']} rows; {wrong[:8]}")
    print(f"  equal: {len(both) - different} of {len(both)} tables that both built")
    for table in sorted(theirs.keys() - set(both)):
        print(f"  only dbt built {table}")


def main() -> None:
    """Port each project and print what became of it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("projects", nargs="+", type=Path)
    parser.add_argument("--dbt", required=True)
    parser.add_argument("--profiles", required=True, type=Path)
    parser.add_argument("--vars", default="{}")
    parser.add_argument("--keep", type=Path, help="the folder to work in; it stays")
    parser.add_argument("--select", default="", help="what to build, separated by spaces")
    parser.add_argument("--only", choices=("ours", "dbt", "rows"), help="needs --keep")
    parser.add_argument("--again", type=Path, help="files for a second build; needs --keep")
    asked = parser.parse_args()
    for project in asked.projects:
        kept = asked.keep / project.name if asked.keep else None
        work = kept or Path(tempfile.mkdtemp(prefix="penstock-port-"))
        work.mkdir(parents=True, exist_ok=True)
        print(project.name)
        port(project, work, asked)
        if kept is None:
            shutil.rmtree(work)


def port(project: Path, work: Path, asked: argparse.Namespace) -> None:
    """Build a project on both sides and compare the rows, or only a part of that."""
    if asked.only in (None, "ours"):
        if asked.again is None:
            whole, files = unchanged(project, work)
            print(f"  unchanged: {whole} of {files} models have no finding")
        else:
            shutil.copytree(asked.again, work / "penstock", dirs_exist_ok=True)
        built = build_with_penstock(project, work, asked)
        ran = sum(status == "success" for status in built.values())
        print(f"  after the import: {ran} of {len(built)} ran")
    if asked.only in (None, "dbt"):
        if asked.again is not None:
            shutil.copytree(asked.again, work / "dbt", dirs_exist_ok=True)
        statuses = build_with_dbt(project, work, asked)
        good = sum(status == "success" for status in statuses.values())
        print(f"  dbt: {good} of {len(statuses)} succeeded")
    if asked.only in (None, "rows"):
        statuses = json.loads((work / "dbt-built.json").read_text())
        done = [table for table, status in statuses.items() if status == "success"]
        compare(rows_of_dbt(work, done, asked), rows_of_penstock(work))


if __name__ == "__main__":
    main()
