select
    flight_date,
    origin,
    count(*) as flights,
    count_if(is_cancelled) as cancelled
from core.flights
where flight_date >= @start_date and flight_date < @end_date
group by flight_date, origin
