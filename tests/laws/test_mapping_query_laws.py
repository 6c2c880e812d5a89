"""Whatever SQL asks of its inputs, rows outside of the inferred range change nothing.

Law 6 again, for shapes of queries and conditions beyond those that inference
recognises. A query is written once for both engines: `<<Spark|SQLite>>` where they differ. SQLite
has dates and instants as whole microseconds, so that it compares a DATE with a TIMESTAMP as Spark
does.
"""

import datetime as dt
import random
import re
import sqlite3
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.names import InputKind, InputName
from penstock.core.partitions.mapping import Everything, spans
from penstock.core.partitions.partition import Grain, Grid
from penstock.core.query import mention
from penstock.project.input_ranges.infer import infer
from penstock.project.input_ranges.inputs import InputShape

COLUMNS = ("date", "k", "day")
INPUTS = {
    "daily": InputName(InputKind.MODEL, "daily"),
    "hourly": InputName(InputKind.MODEL, "hourly"),
    "monthly": InputName(InputKind.MODEL, "monthly"),
    "facts": InputName(InputKind.MODEL, "facts"),
    "events": InputName(InputKind.SOURCE, "raw.events"),
}
SHAPES = {
    INPUTS["daily"]: InputShape("date", "date", COLUMNS, Grid(Grain.DAY)),
    INPUTS["hourly"]: InputShape("date", "timestamp", None, Grid(Grain.HOUR)),
    INPUTS["monthly"]: InputShape("date", "date", None, Grid(Grain.MONTH)),
    INPUTS["facts"]: InputShape(),
    INPUTS["events"]: InputShape(),
}
OF_DATES = ("daily", "monthly", "facts")
NAMES = {name: table for table, name in INPUTS.items()}
EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001  instants are UTC
FIRST = dt.datetime(2024, 1, 20)  # noqa: DTZ001
DAY = 86_400_000_000
HOUR = DAY // 24


def micros(instant):
    """Give an instant as whole microseconds since 1970."""
    return (instant - EPOCH) // dt.timedelta(microseconds=1)


def moment(place):
    """Give an instant of microseconds."""
    return EPOCH + dt.timedelta(microseconds=place)


def literal(days, hours):
    """Write a day, or an instant in it, as each engine does."""
    at = FIRST + dt.timedelta(days, hours=hours)
    text = f"TIMESTAMP '{at}'" if hours else f"DATE '{at:%Y-%m-%d}'"
    return f"<<{text}|{micros(at)}>>"


UNITS = ["WEEK", "MONTH", "QUARTER", "YEAR"]
PARAMETERS = ["@partition_date", "@start_date", "@end_date"]
INTERVALS = [
    ("INTERVAL 1 DAY", 0, DAY),
    ("INTERVAL '36' HOURS", 0, 36 * HOUR),
    ("INTERVAL 1 MONTH", 1, 0),
    ("INTERVAL 2 WEEKS", 0, 14 * DAY),
    ("INTERVAL '1' YEAR", 12, 0),
]
FOLDED = [
    "{p}",
    "{p}",
    "date_sub({p}, {n})",
    "date_add({p}, {n})",
    "add_months({p}, {m})",
    "trunc({p}, '{u}')",
    "date_trunc('{u}', {p})",
    "last_day({p})",
    "<<CAST({p} AS DATE)|to_date({p})>>",
    "<<(CAST({p} AS DATE) + 1)|date_add({p}, 1)>>",
    "coalesce({p}, {q})",
]
PLAIN_TERMS = ["{0}", "{0}", "{0}", "DATE({0})", "<<CAST({0} AS DATE)|to_date({0})>>"]
TERMS = [
    *PLAIN_TERMS,
    "to_date({0})",
    "<<CAST({0} AS TIMESTAMP)|({0})>>",
    "<<{0}::date|to_date({0})>>",
    "trunc({0}, '{u}')",
    "date_trunc('{u}', {0})",
    "DATE(date_trunc('{u}', {0}))",
    "date_add({0}, 1)",
    "date_sub({0}, 2)",
    "last_day({0})",
    "add_months({0}, 1)",
    "coalesce({0}, {2})",
    "coalesce({0}, @partition_date)",
    "nullif({0}, @partition_date)",
    "CASE WHEN {1} = 1 THEN {0} ELSE {2} END",
    "CASE WHEN {0} = @partition_date THEN {2} ELSE {0} END",
    "<<greatest({0}, {2})|larger({0}, {2})>>",
    "<<least({0}, @end_date)|smaller({0}, @end_date)>>",
    "date_add({0}, {1})",
    "<<(CAST({0} AS DATE) - 1)|date_sub({0}, 1)>>",
]
OPERATORS = ["=", "=", "<", "<=", ">", ">=", "<>", "<<<=>|IS>>"]
NEAR = [
    "{0} BETWEEN date_sub(@start_date, {n}) AND date_add(@start_date, {n})",
    "{0} = @partition_date",
    "({0} >= @start_date AND {0} < @end_date)",
]
ODD = [
    "datediff(@partition_date, {0}) BETWEEN 0 AND 4",
    "datediff({0}, @partition_date) = 0",
    "(year({0}) = year(@partition_date) AND month({0}) = month(@partition_date))",
    "month({0}) = 1",
    "CASE WHEN {0} = @partition_date THEN 1 = 1 ELSE {1} = 1 END",
    "coalesce({0} = @partition_date, {1} = 1)",
    "({0} = @partition_date) = (1 = 1)",
    "({0} < @partition_date) = (1 = 0)",
    "({0} = @partition_date) IS NOT TRUE",
    "({0} = @partition_date) IS NULL",
    "NOT ({0} <<<=>|IS>> @partition_date)",
    "{0} IS NULL",
    "{0} IS NOT NULL",
    "@partition_date BETWEEN {0} AND date_add({0}, 2)",
    "@partition_date IN ({0}, date_add({0}, 1))",
    "{0} NOT BETWEEN @start_date AND @end_date",
    "{1} = 1",
]
COMPARED = [
    "{term} {op} {x}",
    "{x} {op} {term}",
    "{term} BETWEEN {x} AND {y}",
    "{term} IN ({x}, {y})",
    "{term} NOT IN ({x}, {y})",
]
TABLES = ["daily", "daily", "daily", "hourly", "monthly", "facts", "events"]
MORE = "SELECT 0 AS n UNION ALL SELECT 7 AS n"
FORMS = [
    "{t}",
    "{t}",
    "{t}",
    "(SELECT * FROM {t} WHERE {c})",
    "(SELECT * FROM {t} WHERE {c})",
    "(SELECT day AS date, k, date AS day FROM {t})",
    "(SELECT date_add(date, 1) AS date, k, date AS day FROM {t})",
    "(SELECT coalesce(date, day) AS date, k, day FROM {t})",
    "(SELECT CASE WHEN k = 1 THEN date ELSE day END AS date, k, day FROM {t})",
    "(SELECT @partition_date AS date, k, date AS day FROM {t})",
    "(SELECT date, k, day FROM {t} ORDER BY k, date, day LIMIT 5)",
    "(SELECT date, k, day FROM {t} WHERE {c} ORDER BY date, k, day LIMIT 3)",
    "(SELECT date, count(*) AS k, max(day) AS day FROM {t} GROUP BY date)",
    "(SELECT date, count(*) AS k, max(day) AS day FROM {t} GROUP BY date HAVING {c})",
    "(SELECT date, k, max(day) AS day FROM {t} GROUP BY date, k HAVING max(day) = @start_date)",
    "(SELECT max(date) AS date, k, min(day) AS day FROM {t} GROUP BY k)",
    "(SELECT trunc(date, 'MONTH') AS date, sum(k) AS k, max(day) AS day FROM {t} GROUP BY 1)",
    "(SELECT min(date) AS date, count(*) AS k, max(day) AS day FROM {t} WHERE {c})",
    "(SELECT date, row_number() OVER (PARTITION BY date ORDER BY k, day) AS k, day FROM {t})",
    "(SELECT date, count(*) OVER (PARTITION BY k) AS k, day FROM {t})",
    "(SELECT date, k, max(date) OVER (PARTITION BY trunc(date, 'MONTH')) AS day FROM {t})",
    "(SELECT lag(date) OVER (PARTITION BY k ORDER BY date, day) AS date, k, day FROM {t})",
    "(SELECT max(date) OVER (PARTITION BY date) AS date, k, day FROM {t})",
    "(SELECT DISTINCT date, k + 1 AS k, day FROM {t})",
    "(SELECT date, k, day FROM {t} UNION SELECT date_add(date, 7), k, day FROM {{daily}})",
    "(SELECT day AS date, k, date AS day FROM {t} UNION ALL SELECT date, k, day FROM {{events}})",
    "(SELECT date, k, day FROM {t} EXCEPT SELECT date, k, day FROM {{hourly}})",
    "(SELECT date, k, day FROM {{daily}} INTERSECT SELECT date, k, day FROM {t} WHERE {c})",
    "(WITH c AS (SELECT k, date AS d, day FROM {t}) SELECT d AS date, k, day FROM c)",
    (
        "(WITH c AS (SELECT * FROM {t}), d AS (SELECT * FROM c WHERE {c}) "
        "SELECT c.date, c.k, d.day FROM c LEFT JOIN d ON c.date = d.date)"
    ),
    "(SELECT x.date, x.k, y.date AS day FROM {t} AS x LEFT JOIN {{daily}} AS y ON x.k = y.k)",
    "(SELECT y.date, x.k, x.day FROM {t} AS x LEFT JOIN {{daily}} AS y ON x.date = y.date)",
    "(SELECT x.date, y.k, x.day FROM {t} AS x FULL JOIN {{daily}} AS y ON x.date = y.date)",
    "(SELECT date_add(x.date, e.n) AS date, x.k, x.day FROM "
    "<<{t} AS x LATERAL VIEW explode(array(0, 7)) e AS n|{t} AS x CROSS JOIN (" + MORE + ") e>>)",
]


TAILS = [
    " AND EXISTS (SELECT 1 FROM {t} AS c WHERE c.k = a.k AND {c})",
    " AND NOT EXISTS (SELECT 1 FROM {t} AS c WHERE c.date = a.date AND {c})",
    " AND a.date IN (SELECT c.date FROM {t} AS c WHERE {c})",
    " AND a.date NOT IN (SELECT c.date FROM {t} AS c WHERE {c})",
    " AND a.date = (SELECT max(c.date) FROM {t} AS c WHERE {c})",
    " AND a.date >= (SELECT coalesce(min(c.date), @start_date) FROM {t} AS c WHERE {c})",
    " OR a.k IN (SELECT c.k FROM {t} AS c WHERE {c})",
    " OR a.date IN (SELECT c.date FROM {t} AS c WHERE {c})",
]
JOINS = [
    "{a}, {b} WHERE {on} AND {where}",
    "{a} JOIN {b} ON {on} WHERE {where}",
    "{a} LEFT JOIN {b} ON {on} WHERE {where}",
    "{a} LEFT JOIN {b} ON a.k = b.k AND {on} WHERE {where}",
    "{a} LEFT JOIN {b} ON a.date = b.date WHERE {where}",
    "{a} RIGHT JOIN {b} ON {on} WHERE {where}",
    "{a} RIGHT JOIN {b} ON a.date = b.date AND {on} WHERE {where}",
    "{a} FULL JOIN {b} ON {on} WHERE {where}",
    "{a} FULL JOIN {b} ON a.date = b.date WHERE {where}",
    "{a} CROSS JOIN {b} WHERE {where}",
    "{a} JOIN {b} USING (date) WHERE {where}",
    "{a} LEFT JOIN {b} USING (date) WHERE {where}",
    "{a} RIGHT JOIN {b} USING (date, k) WHERE {where}",
    "{a} FULL JOIN {b} USING (date) WHERE {where}",
    "{a} LEFT JOIN {b} ON a.k = b.k JOIN {c} ON {three} WHERE {where}",
    "{a} LEFT JOIN {b} ON {on} LEFT JOIN {c} ON {three} WHERE {where}",
    "{a} JOIN {b} ON {on} FULL JOIN {c} ON {three} WHERE {where}",
    "{a} LEFT JOIN ({b} JOIN {c} ON {two}) ON {on} WHERE {where}",
]
ONE_SIDED = [
    (
        "{a} <<LEFT SEMI JOIN {b} ON {on} WHERE|WHERE EXISTS (SELECT 1 FROM {b} WHERE {on}) AND>> "
        "{where}"
    ),
    (
        "{a} <<LEFT ANTI JOIN {b} ON {on} WHERE"
        "|WHERE NOT EXISTS (SELECT 1 FROM {b} WHERE {on}) AND>> {where}"
    ),
    "{a} WHERE {where}",
    "{a} WHERE {where}",
]


SHOWN = [
    "a.date AS date, a.k AS k, {last} AS day FROM {body}",
    "a.day AS date, a.k AS k, {last} AS day FROM {body}",
    "a.date AS date, count(*) AS k, max({last}) AS day FROM {body} GROUP BY a.date",
    "@start_date AS date, sum(a.date = @start_date) AS k, 0 AS day FROM {body}",
    (
        "a.date AS date, (SELECT count(c.day) FROM {{daily}} AS c WHERE {inner}) AS k,"
        " {last} AS day FROM {body}"
    ),
]
WHOLE = [
    "SELECT * FROM ({one}) AS q WHERE {c}",
    "WITH q AS ({one}) SELECT * FROM q WHERE {c}",
    "WITH q AS ({one}) SELECT q.date, q.k, p.day FROM q JOIN q AS p ON q.date = p.date WHERE {d}",
    "{one} UNION ALL {two}",
    "{one} EXCEPT {two}",
    "SELECT * FROM ({one} UNION {two}) AS q WHERE {c}",
    "SELECT date, k, day FROM ({one}) AS q GROUP BY date, k, day HAVING {c}",
]


class Writer:
    """Writes queries by chance, out of one number.

    Hypothesis would draw the hundred choices of a query one by one, which takes a second.
    """

    def __init__(self, seed):
        """Begin."""
        self.random = random.Random(seed)  # noqa: S311  no secret
        self.pick = self.random.choice

    def often(self, few, many):
        """Pick from one list or the other, each half of the time."""
        return self.pick(self.pick([few, many]))

    def constant(self):
        """Write what is known once the partition is."""
        p, q, way = self.pick(PARAMETERS), self.pick(PARAMETERS), self.random.random()
        if way < 0.2:
            return literal(self.random.randint(-3, 18), self.pick([0, 0, 6]))
        if way < 0.3:
            return literal(self.random.randint(-3, 18), 0).replace("DATE ", "")
        if way < 0.5:
            return self.shifted(p)
        n, m = self.random.randint(-3, 5), self.random.randint(-1, 1)
        return self.pick(FOLDED).format(p=p, q=q, n=n, m=m, u=self.pick(UNITS))

    def shifted(self, value):
        """Write a value moved by an interval."""
        (text, months, size), sign = self.pick(INTERVALS), self.pick("+-")
        step = -1 if sign == "-" else 1
        return f"<<({value} {sign} {text})|shift({value}, {step * months}, {step * size})>>"

    def term(self, column):
        """Write a column, bare or with something done to it."""
        if self.random.random() < 0.1:
            return self.shifted(column)
        form = self.often(PLAIN_TERMS, TERMS)
        return form.format(column, *_beside(column), u=self.pick(UNITS))

    def atom(self, columns):
        """Write one condition."""
        column, way = self.pick(columns), self.random.random()
        if way < 0.35:
            return self.pick(NEAR).format(column, n=self.random.randint(0, 5))
        if way < 0.5:
            return self.pick(ODD).format(column, *_beside(column))
        if way < 0.65 and len(columns) > 1:
            other = self.pick(columns)
            return f"{self.term(column)} {self.pick(['=', '=', '<'])} {self.term(other)}"
        form = self.often(COMPARED[:1], COMPARED)
        x, y, op = self.constant(), self.constant(), self.pick(OPERATORS)
        return form.format(term=self.term(column), op=op, x=x, y=y)

    def condition(self, *columns, most=3):
        """Write conditions on columns, joined by AND, OR and NOT."""
        way = self.random.random() if most > 1 else 0
        if way < 0.5:
            return self.atom(columns)
        if way < 0.6:
            return f"NOT ({self.condition(*columns, most=most - 1)})"
        first, second = (self.condition(*columns, most=most - 1) for _ in range(2))
        return f"({first} {self.pick(['AND', 'AND', 'OR'])} {second})"

    def relation(self, alias):
        """Write a FROM item with the columns of every table."""
        form = self.often(FORMS[:5], FORMS)
        table = "{" + self.pick(TABLES) + "}"
        return form.format(t=table, c=self.condition("date")) + f" AS {alias}"

    def tail(self):
        """Write another condition for WHERE, with a subquery."""
        inner = self.condition("c.date", "a.date")
        return self.pick(TAILS).format(t="{" + self.pick(TABLES) + "}", c=inner)

    def select(self):
        """Write one SELECT over one to three relations, with three columns."""
        single = self.random.random() < 0.5
        where = self.condition("a.date") if single else self.condition("a.date", "b.date")
        tail = self.tail() if self.random.random() < 0.3 else ""
        body = self.pick(ONE_SIDED if single else JOINS).format(
            a=self.relation("a"),
            b=self.relation("b"),
            c=self.relation("c"),
            on=self.condition("b.date", "a.date", most=2),
            two=self.condition("b.date", "c.date", most=2),
            three=self.condition("c.date", "b.date", "a.date", most=2),
            where=f"({where}{tail})",
        )
        last = self.pick(["a.day", "a.k"] if single else ["b.day", "b.date", "b.k"])
        inner = self.condition("c.date", "a.date")
        form = self.often(SHOWN[:1], SHOWN)
        return "SELECT " + form.format(body=body, last=last, inner=inner)

    def query(self):
        """Write a query."""
        one = self.select()
        if self.random.random() < 0.6:
            return one
        inner, pair = self.condition("date"), self.condition("q.date", "p.date")
        return self.pick(WHOLE).format(one=one, two=self.select(), c=inner, d=pair)


def _beside(column):
    """Give the other columns of the table of one."""
    of = column.rpartition(".")[0] + "." if "." in column else ""
    return of + "k", of + "day"


def written(text, engine):
    """Write a query for Spark (0) or SQLite (1), innermost differences first."""
    pattern = re.compile(r"<<(<=>|(?:(?!<<|>>|\|).)*)\|((?:(?!<<|>>|\|).)*)>>", re.DOTALL)
    while "<<" in text:
        text, count = pattern.subn(lambda found: found[engine + 1], text)
        assert count, text
    return text


def of_instants(function):
    """Make a function of instants one of microseconds, NULL for NULL."""

    def called(*places):
        if None in places:
            return None
        found = function(moment(places[0]), *places[1:])
        return micros(found) if isinstance(found, dt.datetime) else found

    return called


def day_of(at):
    """Give the beginning of a day."""
    return dt.datetime.combine(at.date(), dt.time())


def floored(at, unit):
    """Give the beginning of a unit."""
    day = day_of(at)
    match unit.upper():
        case "WEEK":
            return day - dt.timedelta(day.weekday())
        case "MONTH":
            return day.replace(day=1)
        case "QUARTER":
            return day.replace(day=1, month=(day.month - 1) // 3 * 3 + 1)
        case _:
            return day.replace(day=1, month=1)


def months_added(at, count):
    """Move an instant by months, to the last day of one that is too short."""
    number = at.year * 12 + at.month - 1 + count
    first = at.replace(year=number // 12, month=number % 12 + 1, day=1)
    return min(first + dt.timedelta(at.day - 1), end_of_month(first) + (at - day_of(at)))


def end_of_month(at):
    """Give the last day of a month."""
    return day_of(floored(at, "MONTH") + dt.timedelta(31)).replace(day=1) - dt.timedelta(1)


def null_or(function):
    """Leave NULLs out, as greatest and least do."""

    def called(*values):
        known = [value for value in values if value is not None]
        return function(known) if known else None

    return called


FUNCTIONS = {
    "to_date": (1, of_instants(day_of)),
    "DATE": (1, of_instants(day_of)),
    "date_add": (2, of_instants(lambda at, n: day_of(at) + dt.timedelta(n))),
    "date_sub": (2, of_instants(lambda at, n: day_of(at) - dt.timedelta(n))),
    "add_months": (2, of_instants(lambda at, n: months_added(day_of(at), n))),
    "shift": (
        3,
        of_instants(lambda at, n, rest: months_added(at, n) + dt.timedelta(microseconds=rest)),
    ),
    "trunc": (2, of_instants(floored)),
    "last_day": (1, of_instants(end_of_month)),
    "year": (1, of_instants(lambda at: at.year)),
    "month": (1, of_instants(lambda at: at.month)),
    "larger": (2, null_or(max)),
    "smaller": (2, null_or(min)),
}


def opened(rows):
    """Open a database with functions of dates, and tables with the given rows."""
    database = sqlite3.connect(":memory:")
    for name, (count, function) in FUNCTIONS.items():
        database.create_function(name, count, function)
    trunc = FUNCTIONS["trunc"][1]
    database.create_function("date_trunc", 2, lambda unit, at: trunc(at, unit))
    database.create_function(
        "datediff", 2, lambda a, b: None if None in (a, b) else a // DAY - b // DAY
    )
    for table, content in rows.items():
        database.execute(f"CREATE TABLE {table} (date INTEGER, k INTEGER, day INTEGER)")
        database.executemany(f"INSERT INTO {table} VALUES (?, ?, ?)", content)
    return database


def answer(query, grid, number, rows):
    """Give the rows of a query."""
    low, high = grid.span(number)
    values = {"partition_date": low, "start_date": low, "end_date": high}
    text = written(query, 1).format(**{table: table for table in INPUTS})
    return Counter(opened(rows).execute(text, values))


def read_of(mapping, span, grid, column, rows):
    """Give the rows of a table that a mapping says are read."""
    if isinstance(mapping, Everything):
        return rows
    ranges = spans(mapping, span, grid)
    at = COLUMNS.index(column)
    return [
        row for row in rows if row[at] is not None and any(lo <= row[at] < hi for lo, hi in ranges)
    ]


def made(seed):
    """Make rows for every table: one or two for each of 22 days, some without a date."""
    rows = random.Random(seed)  # noqa: S311  no secret

    def day():
        return micros(FIRST) + rows.randint(-3, 18) * DAY

    def day_or_null():
        return day() if rows.random() < 0.7 else None

    def table(dates):
        return [(date, rows.randint(1, 3), day_or_null()) for date in dates]

    days = [micros(FIRST) + n * DAY for n in range(-3, 19)]
    instants = [at + rows.choice([0, 5 * HOUR, 6 * HOUR, HOUR // 2]) for at in days]
    return {
        "daily": table(days),
        "hourly": table([*instants, *days[::2]]),
        "monthly": table(days),
        "facts": table([*days[::2], None]),
        "events": table([*instants, *days[::3], None, None]),
    }


GRAINS = [Grain.DAY, Grain.DAY, Grain.HOUR, Grain.WEEK, Grain.MONTH, Grain.YEAR]


def told_by_unread_rows(query, grid, number, whole):
    """Say what of a query's answer follows from rows that its mappings leave out, None if none."""
    text = written(query, 0).format(**{t: mention(name, alias=t) for t, name in INPUTS.items()})
    inferred = infer((text,), grid, SHAPES)
    kept = dict(whole)
    for name, found in inferred.items():
        mapping, table = found.mapping, NAMES[name]
        column = getattr(mapping, "column", "date")
        shape = SHAPES[name]
        kept[table] = read_of(mapping, grid.span(number), shape.grid, column, whole[table])
    if kept == whole:
        return None
    before, after = answer(query, grid, number, whole), answer(query, grid, number, kept)
    return None if before == after else (text, inferred, before, after)


@pytest.mark.skipif(sqlite3.sqlite_version_info < (3, 39), reason="FULL JOIN came with 3.39")
@given(st.integers(0, 2**32))
def test_rows_that_no_mapping_names_change_nothing_whatever_the_query(seed):
    writer = Writer(seed)
    whole = made(seed)
    for _ in range(10):
        query, grid = writer.query(), Grid(writer.pick(GRAINS))
        number = grid.at(micros(FIRST) + writer.random.randrange(15 * 24) * HOUR)

        assert told_by_unread_rows(query, grid, number, whole) is None
