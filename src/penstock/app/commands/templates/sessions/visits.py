"""Plays the part of the browsers: writes what visitors of a web shop send, batch by batch.

    python visits.py 1      1 to 3 March 2024
    python visits.py 2      the next two days; 3, 4, … go on

The same events every time: dice are thrown from a fixed number for each day. Among them are visits
over midnight, events that arrive twice, events that were sent days after they happened, those of a
test of the shop, and a screen in the shop window whose one session never ends.
"""

import datetime as dt
import sys
from pathlib import Path
from random import Random

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

EVENTS = Path(__file__).parent / "landing" / "events"
FIRST, FIRST_DAYS, STEP = dt.date(2024, 3, 1), 3, 2
VISITS, VISITORS = 60, 45
PAGES = ("home", "shoes", "shirts", "hats", "basket", "thanks")
SOURCES = ("search", "mail", "friends", None)
SECOND = dt.timedelta(seconds=1)

TIME, TEXT = pa.timestamp("us", "UTC"), pa.string()
SCHEMA = pa.schema(
    [
        ("event_id", TEXT),
        ("event_name", TEXT),
        ("collector_tstamp", TIME),
        ("collector_date", pa.date32()),
        ("derived_tstamp", TIME),
        ("dvce_created_tstamp", TIME),
        ("dvce_sent_tstamp", TIME),
        ("etl_tstamp", TIME),
        ("app_id", TEXT),
        ("domain_sessionid", TEXT),
        ("domain_userid", TEXT),
        ("user_id", TEXT),
        ("page_view_id", TEXT),
        ("page_url", TEXT),
        ("page_title", TEXT),
        ("mkt_source", TEXT),
        ("amount", pa.float64()),
    ]
)


def main(batch, folder=EVENTS):
    start, end = period(batch)
    if DeltaTable.is_deltatable(str(folder)):
        there = DeltaTable(str(folder)).to_pyarrow_table(columns=["collector_date"])
        if start in there["collector_date"].to_pylist():
            sys.exit(f"batch {batch} was delivered before")
    sent = deliveries(start, end)
    table = pa.Table.from_pylist(sent, SCHEMA)
    write_deltalake(str(folder), table, mode="append", partition_by=["collector_date"])
    sessions = {each["domain_sessionid"] for each in sent}
    print(
        f"delivered batch {batch}, {start} to {end - dt.timedelta(days=1)}: "
        f"{len(sent):,} events of {len(sessions):,} sessions"
    )


def period(batch):
    """Return the first day of a batch and the first day after it."""
    if batch == 1:
        return FIRST, FIRST + dt.timedelta(days=FIRST_DAYS)
    start = FIRST + dt.timedelta(days=FIRST_DAYS + STEP * (batch - 2))
    return start, start + dt.timedelta(days=STEP)


def deliveries(start, end):
    """Return what arrives from one day up to another: it may have happened days before."""
    days = [start + dt.timedelta(days=n) for n in range(-5, (end - start).days)]
    made = [event for day in days if day >= FIRST for event in of_day(day)]
    low, high = midnight(start), midnight(end)
    arrived = [event for event in made if low <= event["collector_tstamp"] < high]
    return sorted(arrived, key=lambda event: (event["collector_tstamp"], event["event_id"]))


def of_day(day):
    dice = Random(f"visits of {day}")
    for number in range(VISITS):
        yield from visit(dice, day, number)
    yield from screen(day)


def visit(dice, day, number):
    """Yield the events of one visit; some begin just before midnight, one in thirty is a test."""
    visitor = dice.randrange(VISITORS)
    minute = dice.randrange(1410, 1440) if dice.random() < 0.15 else dice.randrange(1440)
    at = midnight(day) + dt.timedelta(minutes=minute, seconds=dice.randrange(60))
    session = {
        "app_id": "test" if number % 30 == 29 else "shop",
        "domain_sessionid": f"{day:%m%d}-{number:03}",
        "domain_userid": f"visitor-{visitor:02}",
        "user_id": f"ann{visitor}@example.org" if visitor % 3 == 0 else None,
        "mkt_source": dice.choice(SOURCES),
    }
    for place in range(dice.randint(1, 6)):
        page = PAGES[place] if place < 4 else dice.choice(PAGES[1:4])
        view = f"{session['domain_sessionid']}-{place}"
        yield from sent(dice, session, "page_view", at, view, page)
        for _ in range(dice.randint(0, 4)):
            at += 10 * SECOND
            yield from sent(dice, session, "page_ping", at, view, page)
        at += dt.timedelta(seconds=dice.randint(5, 400))
    if dice.random() < 0.3:
        amount = round(dice.uniform(5, 120), 2)
        yield from sent(dice, session, "purchase", at, None, "thanks", amount=amount)


def screen(day):
    """Yield what the screen in the window sends, every two hours and in one session for ever."""
    session = {
        "app_id": "shop",
        "domain_sessionid": "window",
        "domain_userid": "window",
        "user_id": None,
        "mkt_source": None,
    }
    for hour in range(8, 22, 2):
        at = midnight(day) + dt.timedelta(hours=hour)
        yield from sent(Random(0), session, "page_view", at, f"window-{at:%m%d%H}", "home")


def sent(dice, session, name, at, view, page, *, amount=None):
    """Yield an event as it arrives: mostly once and soon, now and then twice or days late."""
    created = at
    if dice.random() < 0.01:  # a phone that was off for days
        at += dt.timedelta(days=4)
    event = {
        **session,
        "event_id": f"{session['domain_sessionid']}-{name}-{created:%m%d%H%M%S}",
        "event_name": name,
        "collector_tstamp": at,
        "collector_date": at.date(),
        "derived_tstamp": created,
        "dvce_created_tstamp": created,
        "dvce_sent_tstamp": at,
        "etl_tstamp": at + 60 * SECOND,
        "page_view_id": view,
        "page_url": f"https://shop.example/{page}",
        "page_title": page.title(),
        "amount": amount,
    }
    yield event
    if dice.random() < 0.02:  # the same event once more
        later = at + 3 * SECOND
        yield {**event, "collector_tstamp": later, "collector_date": later.date()}


def midnight(day):
    return dt.datetime.combine(day, dt.time(), dt.UTC)


if __name__ == "__main__":
    if len(sys.argv) != 2 or not sys.argv[1].isdigit() or sys.argv[1] == "0":
        sys.exit(__doc__)
    main(int(sys.argv[1]))
