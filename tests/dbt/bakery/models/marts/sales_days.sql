{{ config(materialized='incremental', incremental_strategy='insert_overwrite', partition_by=['sold_on']) }}
select count(*) as sales, sum(price) as price, to_date(sold_at) as sold_on
from {{ ref('stg_sales') }}
group by to_date(sold_at)
