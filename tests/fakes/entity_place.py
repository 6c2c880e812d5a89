"""A project of entities with slices in a bronze folder, run as a user would."""

from __future__ import annotations

import datetime as dt
import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from fakes.commits import commits
from fakes.entity_files import PATH, document
from fakes.place import Place
from penstock.app.run_report import RunReport

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T1, T2, T3, T4 = (f"2025-05-05T10:0{minute}:00Z" for minute in range(4))
TYPES = {"ID": pa.int32(), "SeqNr": pa.int32(), "p_deleted": pa.bool_()}


class EntityPlace(Place):
    """Entities of one document below `lake/`, whose slices are written as ingestion tools do."""

    def __init__(self, root: Path, spark: SparkSession | None, *entities, **more) -> None:
        super().__init__(root, spark)
        self.document(*entities, **more)

    def document(self, *entities, environment=None, **more) -> None:
        """Write the document anew."""
        environment = {"root_folder": "lake", **(environment or {})}
        self.write(PATH, document(*entities, environment=environment, **more))

    def slice(self, name: str, *rows, columns="ID, SeqNr, name", entity="x", types=None) -> Path:
        """Write rows as one Parquet file; without a suffix `.parquet` is added."""
        names = [each.strip() for each in columns.split(",")]
        kinds = {**TYPES, **(types or {})}
        fields = [pa.field(each, kinds.get(each, pa.string())) for each in names]
        arrays = [
            pa.array([row[place] for row in rows], field.type) for place, field in enumerate(fields)
        ]
        file = self.bronze(entity) / (name if "." in name else f"{name}.parquet")
        file.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.Table.from_arrays(arrays, schema=pa.schema(fields)), file)
        return file

    def bronze(self, entity: str = "x") -> Path:
        """Give the bronze folder of an entity."""
        return self.root / "lake" / "bronze" / "aw" / entity

    def silver(self, entity: str = "x") -> Path:
        """Give the folder of its silver table."""
        return self.root / "lake" / "silver" / "aw" / entity

    def folders_gone(self) -> None:
        """Delete the silver table."""
        shutil.rmtree(self.silver())

    def at(self, time: str, *select: str, **asked: object) -> RunReport:
        """Run at a processing time."""
        return self.run(*(select or ("silver_aw.x",)), processing_time=time, **asked)

    def told(self, time: str, **asked: object) -> list[str]:
        """Run, and give what each slice counts, as `counted` writes it."""
        return [counted(each) for each in self.at(time, **asked).results]

    def stored(self, columns="ID, SeqNr, name", where="true", entity="x") -> list[tuple]:
        """Give rows of the silver table, ordered by all columns; instants as T1 to T4."""
        sql = f"SELECT {columns} FROM delta.`{self.silver(entity)}` WHERE {where} ORDER BY ALL"
        return [tuple(_shown(value) for value in row) for row in self.sql(sql)]

    def newest(self, entity: str = "x") -> int:
        """Give the version of the silver table, -1 without one."""
        return len(commits(self.silver(entity))) - 1

    def summary(self, entity: str = "x") -> dict[str, object]:
        """Give the token of the newest commit."""
        log = max((self.silver(entity) / "_delta_log").glob("*.json"))
        infos = (json.loads(line).get("commitInfo") for line in log.read_text().splitlines())
        return json.loads(next(info for info in infos if info)["userMetadata"])


def counted(result) -> str:
    """Give the counts of a result, or why there are none."""
    if result.error is not None:
        return f"{result.slice} {result.error.code}".strip()
    if not result.metrics:
        return f"{result.slice} {result.status}".strip()
    names = ("recordsInSlice", "inserted", "updated", "deleted")
    told = "/".join(str(result.metrics[name]) for name in names)
    more = [("unchanged", " ="), ("inferred_deleted", " x")]
    told += "".join(f"{sign}{n}" for name, sign in more if (n := result.metrics[name]))
    return f"{result.slice} {told}"


def _shown(value: object) -> object:
    if isinstance(value, dt.datetime):
        moment = value.replace(tzinfo=dt.UTC) if value.tzinfo is None else value
        texts = {dt.datetime.fromisoformat(t): f"T{n}" for n, t in enumerate((T1, T2, T3, T4), 1)}
        return texts.get(moment, str(value))
    return value
