{{
    config(
        materialized='incremental',
        incremental_strategy='merge',
        unique_key='sale_id',
        merge_update_columns=['price'],
        on_schema_change='append_new_columns'
    )
}}
select sale_id, product, price, sold_at from {{ ref('stg_sales') }}
{% if is_incremental() %}
where sold_at > (select max(sold_at) from {{ this }})
{% endif %}
