{{ config(materialized='table', tags=['daily']) }}

select
    f.flight_date,
    f.origin,
    f.carrier,
    f.dep_delay,
    f.is_cancelled,
    w.celsius,
    w.wind_kmh,
    w.visibility_km,
    w.rain_mm
from {{ ref('flights') }} as f
left join {{ ref('weather_clean') }} as w
    on w.origin = f.origin
    and w.time_hour = f.time_hour
