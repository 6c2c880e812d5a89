-- Gives a row, which means a failure, for a day without any flight.
select @partition_date as day, 'no flight' as problem
from (select count(*) as flights from core.flights where flight_date = @partition_date)
where flights = 0
