select oven_id, celsius, fahrenheit, {{ oven.doubled('celsius') }} as doubled
from {{ ref('oven', 'temperatures') }}
