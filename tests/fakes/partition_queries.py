"""SQL for one partition: which of it may be one query for many, and which may not.

`at` and `d` are columns of `e`; `days` has `d` and `n`, `people` has `id` and `since`.
"""

TOGETHER = (
    "select date(at) as date, user_id, count(*) as n from e where date(at) = @p group by 1, 2",
    "select @p as date, user_id, count(*) as n from e where date(at) = @p group by user_id",
    (
        "select date(e.at) as date, count(distinct user_id) as n from e as e "
        "where date(e.at) = @p and amount > 1 group by date(at)"
    ),
    (
        "select @p as date, sum(case when at < @p + interval 12 hours then amount end) as early, "
        "max(datediff(@p, since)) as age from e join people on id = user_id "
        "where date(at) = @p group by id having count(*) > 1 order by 1"
    ),
    "select distinct @p as date, user_id from e where (date(at) = @p)",
    "select d as date, e.* from e where d = @p",
    "select *, d as date from e where d = @p and user_id is not null",
    "select @start_date as date, amount from e where d = @p",
    "select @p as date, amount from e where text = @p",
    "select @p as date, amount from e where at = @p",
    (
        "select cast(date_trunc('WEEK', d) as date) as date, sum(amount) as n from e "
        "where cast(date_trunc('WEEK', d) as date) = @p group by 1"
    ),
    "select e.d as date, e.amount, days.n from e, days where e.d = @p and days.d = @p",
    (
        "select coalesce(e.d, days.d) as date, amount, n from e full join days on e.d = days.d "
        "where coalesce(e.d, days.d) = @p"
    ),
    (
        "select d as date, user_id from e where d = @p "
        "and user_id in (select id from people where since < date'2024-01-03')"
    ),
    (
        "select d as date, user_id from e where d = @p and not exists "
        "(select 1 from people where id = user_id)"
    ),
    "select d as date, (select max(n) from days where days.d = e.d) as n from e where d = @p",
    (
        "with old as (select id from people limit 100) "
        "select d as date, count(*) as n from e join old on id = user_id where d = @p group by d"
    ),
    "select d as date, x from e lateral view explode(array(amount, user_id)) t as x where d = @p",
    "select d as date, explode(sequence(1, day(@p))) as x from e where d = @p",
    "select @p as date, filter(array(amount, 2), x -> x > 1) as xs from e where d = @p",
    "select d as date, amount from e where d = @p and d between @p and date_add(@p, 1)",
)

APART = (
    "select d as date, user_id from e where @p = d",
    (
        "select e.d as date, e.user_id from e left anti join e as b "
        "on b.user_id = e.user_id and b.d < @p where e.d = @p"
    ),
    (
        "select e.d as date, e.user_id from e left semi join days on days.d = date_sub(@p, 1) "
        "where e.d = @p"
    ),
    "select e.d as date, e.amount, days.n from e join days on days.d <= @p where e.d = @p",
    (
        "select d as date, amount, row_number() over (partition by d, user_id order by at, amount) "
        "as place from e where d = @p"
    ),
    (
        "select @p as date, user_id, sum(sum(amount)) over (partition by @p order by user_id) as s "
        "from e where d = @p group by user_id"
    ),
    "select e.d as date, e.user_id, days.n from e left join days on days.d = @p where e.d = @p",
    (
        "select e.d as date, e.user_id, b.amount from e left join e as b "
        "on b.user_id = e.user_id and b.d = date_sub(@p, 1) where e.d = @p"
    ),
    "select @p as date, count(*) as n from e where d = @p and amount > 100",
    "select @p as date, count(*) as n from e where d < @p",
    "select @p as date, user_id from e where d = @p order by amount, user_id, at limit 2",
    "select @p as date, user_id from e where d = @p or amount = 1",
    "select @p as date, user_id from e where not d = @p",
    "select @p as date, user_id from e where d = date_sub(@p, 1)",
    "select @p as date, amount, row_number() over (order by at, amount) as r from e where d = @p",
    "select @p as date, amount from e where d = @p union all select @p, 0",
    "select @p as date, amount from (select * from e where d = @p)",
    "with x as (select * from e where d = @p) select @p as date, count(*) as n from x",
    (
        "select @p as date, amount, (select count(*) from days where days.d <= @p) as n from e "
        "where d = @p"
    ),
    (
        "select d as date, user_id from e where d = @p "
        "and user_id in (select id from people where since < @p)"
    ),
    "select @p as date, user_id, sum(amount) as n from e where d = @p group by rollup(user_id)",
    "select @p as date, count(*) as n from e where d = @p group by ()",
    "select date_add(d, 0) as date, user_id from e where d = @p",
    "select e.d as date, days.n from days left join e on days.d = @p where e.d = @p",
    "select days.d as date, amount from e full join days on e.d = @p where days.d = @p",
    "select days.d as date, amount from e right join days on e.d = @p where days.d = @p",
    "select @p as date, x from e lateral view explode(sequence(1, day(@p))) t as x where d = @p",
    "select @p as date, filter(array(at), d -> d < @p) as xs from e where d = @p",
    "select d as date, amount from e tablesample (100 percent) where d = @p",
    "select d as date, rand() as r from e where d = @p",
    "select d as date, uuid() as r from e where d = @p",
    "select d as date, max(amount) as m from e where d = @p group by all",
    "select d as date, count(*) as n from e where d = @p group by d having max(at) >= @p",
    "select d as date, d as date, amount from e where d = @p",
    "select date(at), amount as date from e where date(at) = @p",
    "select @p as date, amount from e where d = @p and at < @end_date",
)
