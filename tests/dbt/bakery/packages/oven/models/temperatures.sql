select 1 as oven_id, {{ var('heat') }} as celsius, {{ oven.in_fahrenheit(var('heat')) }} as fahrenheit
