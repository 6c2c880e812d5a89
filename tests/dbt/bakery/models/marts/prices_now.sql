select product, price from {{ ref('price_list') }} where size = 'small'
union all
select product, price from {{ ref('price_list', v=1) }}
