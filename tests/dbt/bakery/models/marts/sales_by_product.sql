{%- set products = products_sold() -%}
select sold_day
{%- for product in products %},
    sum(case when product = '{{ product }}' then price end) as {{ product }}
{%- endfor %}
from {{ ref('stg_sales') }}
group by sold_day
