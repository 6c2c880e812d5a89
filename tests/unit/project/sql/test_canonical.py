from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.project.sql.canonical import canonical_sql

EQUAL = [
    ("select a from t", "SELECT a FROM t"),
    ("select a from t", "select  a\n\tfrom   t\n"),
    ("select a from t", "select a -- note\nfrom t /* more */"),
    ("select a from t", "select a from t;"),
    ("select a from t", "select `a` from `t`"),
    ("select date from t", "select `date` from t"),
    ("select a from s.t", "select a from `s.t`"),
    ("select t.a from s.t", "select `t`.`a` from `s`.`t`"),
    ("select a != b from t", "select a <> b from t"),
    ("select a = b from t", "select a == b from t"),
    ("select a::int from t", "select cast(a as INT) from t"),
    ("select x as y from t", "select x y from t"),
    ("select * from t as u", "select * from t u"),
    ("select ifnull(a, b) from t", "select coalesce(a, b) from t"),
    ("select nvl(a, b) from t", "select coalesce(a, b) from t"),
    ("select COUNT(a) from t", "select count(a) from t"),
    ("select my_udf(a) from t", "select MY_UDF(a) from t"),
    ("select true, null", "select TRUE, NULL"),
    ("select a from t where b is not null", "select a from t where not b is null"),
    ("select substr(a, 1, 2) from t", "select substring(a, 1, 2) from t"),
    # Spark, too, casts to STRING here
    ("select cast(a as varchar(3)) from t", "select cast(a as string) from t"),
    ("select cast(a as long) from t", "select cast(a as bigint) from t"),
    (
        "select sum(a) over (order by b rows between 1 preceding and current row) from t",
        "SELECT SUM(a) OVER (ORDER BY b ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM t",
    ),
    ("from t select a", "select a from t"),
    ("select `my_udf`(a) from t", "select my_udf(a) from t"),
    ("select c.s.my_udf(a) from t", "select c.s.My_Udf(a) from t"),
    ("select transform(a, x -> upper(x)) from t", "select transform(a, `x` -> Upper(`x`)) from t"),
    ("select a from `c.s.t`", "select a from c.s.t"),
    ("select `s.t`.a.b from s.t", "select s.t.a.b from s.t"),
    ("select /*+ broadcast(u) */ * from t, u", "select /*+  BROADCAST( u ) */ * from t, u"),
    ("select @run_date -- now", "SELECT @run_date"),
]

# One operator or function with two names, to the parser and to Spark.
SPELLINGS = [
    ("a <=> b", "a is not distinct from b"),
    ("a % b", "mod(a, b)"),
    ("a rlike b", "regexp_like(a, b)"),
    ("a << 1", "shiftleft(a, 1)"),
    ("array_agg(a)", "collect_list(a)"),
    ("array_size(a)", "size(a)"),  # NULL of NULL, both, in Spark's ANSI mode
    ("approx_percentile(a, b)", "percentile_approx(a, b)"),
    ("cast(a as timestamp)", "to_timestamp(a)"),
    ("cast(a as timestamp)", "timestamp(a)"),
    ("cast(a as date)", "date(a)"),
    ("cast(a as int)", "int(a)"),
    ("date '2024-01-01'", "cast('2024-01-01' as date)"),
    ("ceil(a)", "ceiling(a)"),
    ("char(a)", "chr(a)"),
    ("current_date", "current_date()"),
    ("current_date", "curdate()"),
    ("date_add(a, 1)", "dateadd(a, 1)"),
    ("date_sub(a, 1)", "date_add(a, 1 * -1)"),
    ("date_trunc('week', a)", "date_trunc('WEEK', a)"),
    ("datediff(a, b)", "date_diff(a, b)"),
    ("first(a) ignore nulls", "first(a, true)"),
    ("length(a)", "len(a)"),
    ("length(a)", "char_length(a)"),
    ("length(a)", "character_length(a)"),
    ("listagg(a, ',')", "string_agg(a, ',')"),
    ("ln(a)", "log(a)"),
    ("locate(a, b)", "position(a, b)"),
    ("locate(a, b)", "charindex(a, b)"),
    ("locate(a, b)", "instr(b, a)"),
    ("log(10, a)", "log10(a)"),
    ("lower(a)", "lcase(a)"),
    ("named_struct('x', a)", "struct(a as x)"),
    ("power(a, 2)", "pow(a, 2)"),
    ("rand(1)", "random(1)"),
    ("reduce(a, 0, (x, y) -> x + y)", "aggregate(a, 0, (x, y) -> x + y)"),
    ("rtrim(a)", "trim(trailing from a)"),
    ("sha(a)", "sha1(a)"),
    ("sign(a)", "signum(a)"),
    ("substring(a, 1, 2)", "substring(a from 1 for 2)"),
    ("trunc(a, 'month')", "trunc(a, 'MONTH')"),
    ("unix_timestamp(a)", "unix_timestamp(a, 'yyyy-MM-dd HH:mm:ss')"),
    ("upper(a)", "ucase(a)"),
    ("variance(a)", "var_samp(a)"),
    ("1L", "cast(1 as bigint)"),
]

DIFFERENT = [
    ("select a from t", "select A from t"),
    ("select a from t", "select a from T"),
    ("select a from t", "select b from t"),
    ("select a from t", "select a from u"),
    ("select a, b from t", "select b, a from t"),
    ("select 1", "select 2"),
    ("select 1", "select 1.0"),
    ("select 1.0", "select 1.00"),
    ("select '1'", "select 1"),
    ("select 'a'", "select 'A'"),
    ("select 'a b'", "select 'a  b'"),
    ("select 'a -- b'", "select 'a '"),
    ("select current_date", "select `current_date`"),
    ("select a as x from t", "select a as y from t"),
    ("select a from t", "select distinct a from t"),
    ("select a from t union select b from u", "select a from t union all select b from u"),
    ("select * from t join u on t.a = u.a", "select * from t left join u on t.a = u.a"),
    ("select * from t join u on t.a = u.a", "select * from t join u using (a)"),
    ("select a = b from t", "select a <=> b from t"),
    ("select a from t order by a", "select a from t order by a desc"),
    ("select cast(a as int) from t", "select try_cast(a as int) from t"),
    ("select cast(a as decimal(9, 2)) from t", "select cast(a as decimal(9, 3)) from t"),
    ("select cast(a as timestamp) from t", "select cast(a as timestamp_ntz) from t"),
    ("select /*+ BROADCAST(u) */ * from t, u", "select * from t, u"),
    ("select a + b * c from t", "select (a + b) * c from t"),
    ("select a and b or c from t", "select a and (b or c) from t"),
    ("select a from t where b in (1, 2)", "select a from t where b in (2, 1)"),
    ("select count(*) from t", "select count(1) from t"),
    ("select first(a) from t", "select any_value(a) from t"),
    ("select a from t limit 1", "select a from t limit 2"),
    ("select a[0] from t", "select a[1] from t"),
    ("select @partition_date", "select @start_date"),
    ("select interval 1 day", "select interval 1 month"),
    ("select a div b from t", "select a / b from t"),
    ("select * except (a) from t", "select * except (b) from t"),
    ("select a from t tablesample (10 percent)", "select a from t tablesample (20 percent)"),
    ("select r'\\n'", "select '\\n'"),
    ("select X'1A'", "select X'1B'"),
    ("select :a", "select :b"),
    ("select explode(a) from t", "select explode_outer(a) from t"),
    ("select to_date(a, 'yyyy-MM-dd') from t", "select to_date(a) from t"),
    ("select to_date(a, 'yyyy-MM-dd') from t", "select to_date(a, 'yyyy-MM-dd HH:mm:ss') from t"),
    ("select datediff(to_date(a, 'yyyy-MM-dd'), b)", "select datediff(to_date(a), b)"),
    ("select parse_json(a) from t", "select a from t"),
    ("select listagg(a) from t", "select listagg(a, ',') from t"),
    (
        "select percentile_cont(0.5) within group (order by a) from t",
        "select percentile_disc(0.5) within group (order by a) from t",
    ),
    (
        "select percentile_cont(0.5) within group (order by a) from t",
        "select percentile_cont(0.5) within group (order by a desc) from t",
    ),
    ("select @partition_date", "select '@partition_date'"),
    ("select @partition_date", "select `@partition_date`"),
    ("select transform(a, x -> upper(x)) from t", "select transform(a, x -> upper(X)) from t"),
    ("select my_udf(a) from t", "select my_udg(a) from t"),
]


@pytest.mark.parametrize(("one", "other"), EQUAL)
def test_what_means_the_same_is_the_same(one, other):
    assert canonical_sql(one) is not None
    assert canonical_sql(one) == canonical_sql(other)


@pytest.mark.parametrize(("one", "other"), SPELLINGS)
def test_spellings_that_the_parser_holds_to_be_one(one, other):
    assert canonical_sql(f"select {one} from t") == canonical_sql(f"select {other} from t")
    assert canonical_sql(f"select {one} from t") is not None


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_what_may_differ_in_rows_differs(one, other):
    assert canonical_sql(one) is not None
    assert canonical_sql(other) is not None
    assert canonical_sql(one) != canonical_sql(other)


@pytest.mark.parametrize(
    "text", ["", "select", "select a:b.c from t", "delete from t", "select 1; select 2"]
)
def test_what_is_no_parsed_query_has_no_canonical_form(text):
    assert canonical_sql(text) is None


@pytest.mark.parametrize(
    "text", ["from t |> limit 5 |> where a = 1", "from t |> where a = 1 |> limit 5"]
)
def test_steps_after_pipes_have_no_canonical_form_because_their_order_counts(text):
    assert canonical_sql(text) is None


@pytest.mark.parametrize("text", sorted({text for pair in EQUAL + DIFFERENT for text in pair}))
def test_the_canonical_form_is_its_own_canonical_form(text):
    once = canonical_sql(text)

    assert once is not None
    assert "\n" not in once
    assert canonical_sql(once) == once


WORDS = [
    "select",
    "a",
    ",",
    "b",
    "as",
    "c",
    "from",
    "s",
    ".",
    "t",
    "where",
    "a",
    ">",
    "'x  Y'",
    "and",
    "b",
    "=",
    "1",
]
SPACES = st.sampled_from([" ", "\n", "\t ", " -- it's\n", " /* ; */ "])


@given(st.lists(SPACES, min_size=len(WORDS), max_size=len(WORDS)), st.booleans(), st.booleans())
def test_space_comments_case_and_quotes_change_nothing(spaces, upper, quotes):
    keywords = {"select", "as", "from", "where", "and"}
    parts = []
    for word, space in zip(WORDS, spaces, strict=True):
        shown = word.upper() if upper and word in keywords else word
        parts += [
            f"`{shown}`" if quotes and word.isalpha() and word not in keywords else shown,
            space,
        ]

    assert canonical_sql("".join(parts)) == canonical_sql(" ".join(WORDS))


@given(st.integers(0, len(WORDS) - 1), st.text("abcxyz", min_size=3, max_size=5))
def test_any_changed_name_or_literal_changes_it(position, new):
    word = WORDS[position]
    changed = f"'{new}'" if word.startswith("'") else "77" if word == "1" else new
    if word not in ("a", "b", "c", "s", "t", "1", "'x  Y'"):
        return

    assert canonical_sql(
        " ".join([*WORDS[:position], changed, *WORDS[position + 1 :]])
    ) != canonical_sql(" ".join(WORDS))
