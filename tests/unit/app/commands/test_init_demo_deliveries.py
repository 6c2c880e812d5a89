"""The demo's deliver.py cuts the real data into batches; here on a handful of flights."""

import importlib.util
import zipfile
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import penstock.app.commands.init
from penstock.core.history import NewerThan
from penstock.project.load import load_project
from penstock.strategies.history.snapshot import Snapshot

FLIGHTS = """\
year,month,day,dep_time,carrier,tailnum,origin,dest,time_hour
2013,1,1,517,UA,N1,EWR,IAH,2013-01-01T10:00:00Z
2013,1,1,533,AA,N2,LGA,IAH,2013-01-01T10:00:00Z
2013,12,31,NA,AA,N3,LGA,MIA,2013-12-31T10:00:00Z
2013,3,31,600,UA,N1,JFK,IAH,2013-03-31T10:00:00Z
2013,4,1,601,AA,N2,JFK,IAH,2013-04-01T10:00:00Z
2013,4,1,602,B6,N4,JFK,BQN,2013-04-01T10:00:00Z
"""
AIRPORTS = """\
faa,name,alt
IAH,Houston,97
MIA,Miami,8
"""
PLANES = """\
tailnum,year,model,seats
N1,1999,737-1,149
N2,2000,737-2,100
N3,2001,737-3,149
N4,2002,A320-1,182
"""
WEATHER = """\
origin,year,month,day,hour,temp
EWR,2013,1,1,1,39.02
EWR,2013,4,1,1,50
EWR,2013,5,1,1,60
"""


@pytest.fixture
def deliver():
    path = Path(penstock.app.commands.init.__file__).parent / "templates" / "demo" / "deliver.py"
    spec = importlib.util.spec_from_file_location("deliver", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    with zipfile.ZipFile(folder / "flights.csv.zip", "w") as archive:
        archive.writestr("flights.csv", FLIGHTS)
    for name, text in (
        ("planes", PLANES),
        ("weather", WEATHER),
        ("airlines", ""),
        ("airports", AIRPORTS),
    ):
        (folder / f"{name}.csv").write_text(text)
    return folder


def files(landing):
    return sorted(path.relative_to(landing).as_posix() for path in landing.rglob("*.*"))


def rows(landing, entity, start):
    return pq.read_table(landing / "bronze" / "faa" / entity / f"{start}.parquet").to_pylist()


def test_the_first_batch_is_january_to_march(deliver, data, tmp_path, capsys):
    deliver.main(1, data, tmp_path / "landing")

    assert files(tmp_path / "landing") == [
        "airlines/airlines.csv",
        "airports/airports.csv",
        "bronze/faa/airports/2013-01-01.parquet",
        "bronze/faa/registry/2013-01-01.parquet",
        "flights/2013-01/2013-01-01.csv",
        "flights/2013-03/2013-03-31.csv",
        "planes/2013-01-01.csv",
        "weather/2013-01-01.csv",
    ]
    assert capsys.readouterr().out == (
        "delivered batch 1, 2013-01-01 to 2013-03-31: 3 flights in 2 files, "
        "1 hours of weather, 2 new planes, 0 corrected ones; 2 planes in the registry\n"
    )


def test_the_second_batch_brings_new_planes_and_corrected_seats(deliver, data, tmp_path):
    deliver.main(1, data, tmp_path)
    deliver.main(2, data, tmp_path)

    assert (tmp_path / "planes" / "2013-04-01.csv").read_text() == (
        "tailnum,year,model,seats,delivered\n"
        "N2,2000,737-2,149,2013-04-01\n"
        "N4,2002,A320-1,182,2013-04-01\n"
    )


def test_the_registry_is_delivered_whole_but_for_planes_that_fly_no_more(deliver, data, tmp_path):
    deliver.main(1, data, tmp_path)
    deliver.main(2, data, tmp_path)

    first, second = (rows(tmp_path, "registry", start) for start in ("2013-01-01", "2013-04-01"))
    assert [(row["tailnum"], row["seats"]) for row in first] == [("N1", "149"), ("N2", "100")]
    assert [(row["tailnum"], row["seats"]) for row in second] == [("N2", "149"), ("N4", "182")]


def test_airports_are_delivered_with_who_flew_there(deliver, data, tmp_path):
    deliver.main(1, data, tmp_path)
    deliver.main(2, data, tmp_path)

    houston = {"faa": "IAH", "name": "Houston", "alt": "97"}
    assert rows(tmp_path, "airports", "2013-01-01") == [{**houston, "carriers": "AA UA"}]
    assert rows(tmp_path, "airports", "2013-04-01") == [{**houston, "carriers": "AA"}]


def test_a_version_of_a_plane_starts_on_the_day_of_its_delivery(tmp_path):
    penstock.app.commands.init.init(tmp_path, "demo")

    model = load_project(tmp_path, environ={}).models["planes_history"]

    assert model.strategy == Snapshot(("tailnum",), NewerThan("delivered"), event_time=True)


def test_a_batch_that_is_delivered_again_touches_no_file(deliver, data, tmp_path):
    deliver.main(1, data, tmp_path)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.*")}

    deliver.main(1, data, tmp_path)

    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.*")} == before


def test_after_the_year_there_is_nothing_to_deliver(deliver, data, tmp_path):
    with pytest.raises(SystemExit, match="nothing more to deliver"):
        deliver.main(99, data, tmp_path)


def test_without_the_package_one_sentence_says_how_to_get_it(deliver, monkeypatch):
    monkeypatch.setattr(deliver, "find_spec", lambda _: None)

    with pytest.raises(SystemExit) as ended:
        deliver.package_data()

    assert (
        ended.value.code
        == "the data is missing; install it with: pip install 'penstock-delta[demo]'"
    )
