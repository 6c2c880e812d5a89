{{ config(materialized='incremental') }}
select sale_id, sold_at from {{ ref('stg_sales') }}
{% if is_incremental() %} where sale_id > (select max(sale_id) from {{ this }}) {% endif %}
