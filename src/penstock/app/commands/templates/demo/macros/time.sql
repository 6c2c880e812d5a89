{# 1730 means half past five in the afternoon: give the minutes since midnight. #}
{% macro minutes_of_day(hhmm) -%}
(div({{ hhmm }}, 100) * 60 + {{ hhmm }} % 100)
{%- endmacro %}
