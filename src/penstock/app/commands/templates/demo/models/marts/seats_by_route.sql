{{ config(materialized='table', tags=['monthly']) }}

-- A correction of a plane's seats changes the months in which it flew.
select
    date_trunc('month', f.flight_date) as month,
    f.origin,
    f.dest,
    a.name as destination,
    count(*) as flights,
    sum(p.seats) as seats,
    count_if(p.tailnum is null) as flights_with_unknown_plane
from {{ ref('flights') }} as f
left join {{ ref('planes') }} as p on p.tailnum = f.tailnum
left join {{ source('raw', 'airports') }} as a on a.faa = f.dest
where not f.is_cancelled
group by date_trunc('month', f.flight_date), f.origin, f.dest, a.name
