"""A project that was copied, with new times and in another place, is what it was."""

import os
import shutil

from fakes.place import Place, statuses
from penstock.app.commands.seed import seed

MODELS = ("users", "kept", "seen", "last", "counted")


def test_a_copied_project_is_current(tmp_path, spark) -> None:
    place = Place(tmp_path / "here", spark)
    place.write("landing/a.csv", "1,x\n2,y\n")
    place.write(
        "models/raw.yml",
        "sources: [{name: raw, tables: [{name: users, path: ../landing, format: csv}]}]\n",
    )
    place.write("seeds/codes.csv", "code\nDE\n")
    place.model("users", "select * from {{ source('raw', 'users') }}", materialized="table")
    place.model("kept", "select * from {{ ref('users') }}", materialized="merge", unique_key="_c0")
    place.model("seen", "select * from {{ ref('kept') }} cross join {{ ref('codes') }}")
    place.model("last", "select * from {{ ref('seen') }}", materialized="table")
    place.write(
        "models/m/counted.py",
        "from penstock import table\n\n\n@table(schema='m')\ndef counted(users):\n"
        "    return users.groupBy('_c1').count()\n",
    )
    services = place.services()
    seed(services)
    services.close()
    built = place.run()
    copy = tmp_path / "elsewhere" / "there"
    shutil.copytree(place.root, copy, copy_function=shutil.copyfile)
    for path in copy.rglob("*"):
        os.utime(path, (1_600_000_000, 1_600_000_000))
    shutil.rmtree(place.root)
    there = Place(copy, spark)

    before = there.states()
    again = there.run()

    assert statuses(built) == dict.fromkeys(MODELS, "success")
    assert before == {name: [] for name in MODELS}
    assert statuses(again) == dict.fromkeys(MODELS, "unchanged")

    (copy / "landing" / "a.csv").write_text("1,x\n2,z\n", encoding="utf-8")

    assert there.states()["users"] == ["source_changed"]
