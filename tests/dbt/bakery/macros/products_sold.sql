{% macro products_sold() %}
  {% set asked %}select distinct product from {{ ref('stg_sales') }} order by product{% endset %}
  {% set found = run_query(asked) %}
  {% if execute %}{{ return(found.columns[0].values()) }}{% endif %}
  {{ return([]) }}
{% endmacro %}
