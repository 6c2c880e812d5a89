select
    cast(date_trunc('week', flight_date) as date) as week_start,
    origin,
    sum(flights) as flights,
    sum(cancelled) as cancelled,
    sum(late) as late
from stats.daily_flight_stats
where flight_date >= @start_date and flight_date < @end_date
group by 1, 2
