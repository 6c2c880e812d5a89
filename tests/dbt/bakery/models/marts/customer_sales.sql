{#- how much each customer spent -#}
{{ config(alias='sales_by_customer', tags=['daily']) }}

select c.customer_id, c.name, f.first_sale_at,
    {% for size in var('sizes') %}
    sum(case when s.size = '{{ size }}' then s.price else 0 end) as {{ size }}_spent{{ "," if not loop.last }}
    {% endfor %}
from {{ ref('stg_customers') }} c
join {{ ref('stg_sales') }} s on s.customer_id = c.customer_id
left join {{ ref('first_sales') }} f on f.customer_id = c.customer_id
group by 1, 2, 3
