{% macro in_fahrenheit(column) %}{{ return(adapter.dispatch('in_fahrenheit', 'oven')(column)) }}{% endmacro %}

{% macro default__in_fahrenheit(column) %}(0){% endmacro %}

{% macro spark__in_fahrenheit(column) %}({{ column }} * 9 / 5 + 32){% endmacro %}

{% macro doubled(column) %}{{ oven.tripled(column) }} - {{ column }}{% endmacro %}

{% macro tripled(column) %}3 * {{ column }}{% endmacro %}
