{%- set columns = adapter.get_columns_in_relation(ref('stg_sales')) -%}
select {% for column in columns if column.name not in ('sold_at', 'sold_day') %}
    {{ column.name }}{{ "," if not loop.last }}
{%- endfor %}
from {{ ref('stg_sales') }}
