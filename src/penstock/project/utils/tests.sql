{#
    Tests of tables under the names that dbt_utils has for them. Each returns the rows that fail.
    docs/reference/utils.md lists them, and says what each does with NULL.
#}

{% macro grouping(columns) %}{% if columns %}group by {{ columns | join(", ") }}{% endif %}{% endmacro %}

{% macro leading(columns) %}{% if columns %}{{ columns | join(", ") }}, {% endif %}{% endmacro %}

{% macro windowing(columns) %}{% if columns %}partition by {{ columns | join(", ") }}{% endif %}{% endmacro %}

{% macro moved(datepart, count, time) %}timestampadd({{ datepart }}, {{ count }}, {{ time }}){% endmacro %}

{# NULL passes: neither true nor false. #}
{% test expression_is_true(model, expression, column_name=none) %}
select * from {{ model }}
where not ({% if column_name is not none %}{{ column_name }} {% endif %}{{ expression }})
{% endtest %}

{# NULLs of a column are equal, so two rows with NULL fail. #}
{% test unique_combination_of_columns(model, combination_of_columns, quote_columns=false) %}
{% set mark = "`" if quote_columns else "" %}
{% set columns = mark ~ (combination_of_columns | join(mark ~ ", " ~ mark)) ~ mark %}
select {{ columns }}, count(*) as rows_of_key from {{ model }}
group by {{ columns }} having count(*) > 1
{% endtest %}

{# A column, or a group, with NULLs alone fails; so does a table without rows. #}
{% test at_least_one(model, column_name, group_by_columns=[]) %}
select {{ leading(group_by_columns) }}count({{ column_name }}) as given from {{ model }}
{{ grouping(group_by_columns) }} having count({{ column_name }}) = 0
{% endtest %}

{# A table without rows passes. #}
{% test not_null_proportion(model, column_name, at_least, at_most=1.0, group_by_columns=[]) %}
select * from (
    select {{ leading(group_by_columns) }}
        count({{ column_name }}) / nullif(count(*), 0) as not_null_proportion
    from {{ model }} {{ grouping(group_by_columns) }}
) as measured
where not_null_proportion < {{ at_least }} or not_null_proportion > {{ at_most }}
{% endtest %}

{# NULL passes. #}
{% test accepted_range(model, column_name, min_value=none, max_value=none, inclusive=true) %}
{% set equal = "=" if inclusive else "" %}
select * from {{ model }}
where false
{% if min_value is not none %} or not ({{ column_name }} >{{ equal }} {{ min_value }}){% endif %}
{% if max_value is not none %} or not ({{ column_name }} <{{ equal }} {{ max_value }}){% endif %}
{% endtest %}

{# NULL and '' differ: NULL passes. #}
{% test not_empty_string(model, column_name, trim_whitespace=true) %}
{% set value = "trim(" ~ column_name ~ ")" if trim_whitespace else column_name %}
select * from {{ model }} where {{ value }} = ''
{% endtest %}

{# A column without any value fails, also in a table without rows. #}
{% test recency(model, field, datepart, interval, ignore_time_component=false, group_by_columns=[]) %}
{% set kind = "date" if ignore_time_component else "timestamp" %}
{% set threshold = "cast(" ~ moved(datepart, interval * -1, "current_timestamp()") ~ " as " ~ kind ~ ")" %}
select * from (
    select {{ leading(group_by_columns) }}
        {% if ignore_time_component %}cast(max({{ field }}) as date){% else %}max({{ field }}){% endif %}
            as most_recent
    from {{ model }} {{ grouping(group_by_columns) }}
) as measured
where most_recent < {{ threshold }} or most_recent is null
{% endtest %}

{# NULL passes: it refers to nothing. #}
{% test relationships_where(model, column_name, to, field, from_condition="true", to_condition="true") %}
select here.id from (
    select {{ column_name }} as id from {{ model }}
    where {{ column_name }} is not null and ({{ from_condition }})
) as here
left anti join (
    select {{ field }} as id from {{ to }}
    where {{ field }} is not null and ({{ to_condition }})
) as there on here.id = there.id
{% endtest %}

{# NULLs are not values, so a column of NULLs passes. #}
{% test not_constant(model, column_name, group_by_columns=[]) %}
select {{ leading(group_by_columns) }}count(distinct {{ column_name }}) as values_of_column
from {{ model }} {{ grouping(group_by_columns) }}
having count(distinct {{ column_name }}) = 1
{% endtest %}

{# NULL passes. #}
{% test not_accepted_values(model, column_name, values, quote=true) %}
{% set mark = "'" if quote else "" %}
select {{ column_name }} as value from {{ model }}
where {{ column_name }} in ({{ mark }}{{ values | join(mark ~ ", " ~ mark) }}{{ mark }})
group by {{ column_name }}
{% endtest %}

{# Groups of one table alone pass, and so do groups whose columns are NULL. #}
{% test equal_rowcount(model, compare_model, group_by_columns=[]) %}
select * from (
    select {% for each in group_by_columns %}here.{{ each }}, {% endfor %}
        here.number as rows_here, there.number as rows_there
    from (
        select {{ leading(group_by_columns) }}count(*) as number
        from {{ model }} {{ grouping(group_by_columns) }}
    ) as here
    join (
        select {{ leading(group_by_columns) }}count(*) as number
        from {{ compare_model }} {{ grouping(group_by_columns) }}
    ) as there
    on true {% for each in group_by_columns %}and here.{{ each }} = there.{{ each }} {% endfor %}
) as counted
where rows_here <> rows_there
{% endtest %}

{# Rows are compared as sets: how often each occurs makes no difference, and NULLs are equal. #}
{% test equality(model, compare_model, compare_columns=none, exclude_columns=none) %}
{% set columns = compare_columns | join(", ") if compare_columns else "*" %}
{% if exclude_columns %}{% set columns = "* except (" ~ (exclude_columns | join(", ")) ~ ")" %}{% endif %}
(select {{ columns }} from {{ model }} except select {{ columns }} from {{ compare_model }})
union all
(select {{ columns }} from {{ compare_model }} except select {{ columns }} from {{ model }})
{% endtest %}

{# How often each value occurs; NULLs are equal. #}
{% test cardinality_equality(model, column_name, to, field) %}
{% set here = "select " ~ column_name ~ " as value, count(*) as number from " ~ model ~ " group by " ~ column_name %}
{% set there = "select " ~ field ~ " as value, count(*) as number from " ~ to ~ " group by " ~ field %}
({{ here }} except {{ there }}) union all ({{ there }} except {{ here }})
{% endtest %}

{# A NULL bound fails. #}
{% test mutually_exclusive_ranges(model, lower_bound_column, upper_bound_column, partition_by=none, gaps="allowed", zero_length_range_allowed=false) %}
{% set within = "partition by " ~ partition_by if partition_by else "" %}
{% set follows = {"allowed": "<=", "not_allowed": "=", "required": "<"}[gaps] %}
{% set reaches = "<=" if zero_length_range_allowed else "<" %}
{% set bounds = lower_bound_column ~ ", " ~ upper_bound_column %}
select * from (
    select {{ lower_bound_column }} as lower_bound, {{ upper_bound_column }} as upper_bound,
        lead({{ lower_bound_column }}) over ({{ within }} order by {{ bounds }}) as next_lower_bound,
        row_number() over (
            {{ within }} order by {{ lower_bound_column }} desc, {{ upper_bound_column }} desc
        ) = 1 as is_last
    from {{ model }}
) as ranges
where not (
    coalesce(lower_bound {{ reaches }} upper_bound, false)
    and coalesce(upper_bound {{ follows }} next_lower_bound, is_last, false)
)
{% endtest %}

{# The first value passes; NULLs are not compared. #}
{% test sequential_values(model, column_name, interval=1, datepart=none, group_by_columns=[]) %}
select * from (
    select {{ leading(group_by_columns) }}{{ column_name }} as value,
        lag({{ column_name }}) over ({{ windowing(group_by_columns) }} order by {{ column_name }})
            as previous_value
    from {{ model }}
) as ordered
where not (
    {% if datepart %}
    cast(value as timestamp) = cast({{ moved(datepart, interval, "previous_value") }} as timestamp)
    {% else %}
    value = previous_value + {{ interval }}
    {% endif %}
)
{% endtest %}
