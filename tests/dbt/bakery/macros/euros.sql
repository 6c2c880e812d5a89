{% macro euros(column) -%}
    cast({{ column }} as decimal(11, 2))
{%- endmacro %}
