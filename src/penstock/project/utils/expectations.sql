{#
    Tests of tables under the names that dbt_expectations has for them. Each returns the rows that
    fail. docs/reference/utils.md lists them, and says what each does with NULL.
#}

{% macro rows_where(condition) %}{% if condition %}where {{ condition }}{% endif %}{% endmacro %}

{% macro in_bounds(value, least, most, strictly) %}
{% set equal = "" if strictly else "=" %}
(true
{%- if least is not none %} and {{ value }} >{{ equal }} {{ least }}{% endif -%}
{%- if most is not none %} and {{ value }} <{{ equal }} {{ most }}{% endif %})
{% endmacro %}

{# An expression that is NULL passes: of rows, or of groups of them. #}
{% macro holds(model, expression, groups, condition) %}
select * from (
    select {% for each in groups or [] %}{{ each }} as col_{{ loop.index }}, {% endfor %}
        {{ expression }} as expression
    from {{ model }} {{ rows_where(condition) }}
    {% if groups %}group by {{ groups | join(", ") }}{% endif %}
) as measured
where not expression
{% endmacro %}

{# A column that does not exist is an error of the query. #}
{% test expect_column_to_exist(model, column_name) %}
select {{ column_name }} from {{ model }} where false
{% endtest %}

{% test expect_table_row_count_to_be_between(model, min_value=none, max_value=none, group_by=none, row_condition=none, strictly=false) %}
{{ holds(model, in_bounds("count(*)", min_value, max_value, strictly), group_by, row_condition) }}
{% endtest %}

{% test expect_table_row_count_to_equal(model, value, group_by=none, row_condition=none) %}
{{ holds(model, "count(*) = " ~ value, group_by, row_condition) }}
{% endtest %}

{# Groups of one table alone fail, and so do groups whose columns are NULL. #}
{% test expect_table_row_count_to_equal_other_table(model, compare_model, group_by=none, compare_group_by=none, factor=1, row_condition=none, compare_row_condition=none) %}
{% set here = group_by or [] %}
{% set there = compare_group_by or here %}
select * from (
    select here.number as rows_here, there.number as rows_there
    from (
        select {% for each in here %}{{ each }} as col_{{ loop.index }}, {% endfor %}count(*) as number
        from {{ model }} {{ rows_where(row_condition) }}
        {% if here %}group by {{ here | join(", ") }}{% endif %}
    ) as here
    full join (
        select {% for each in there %}{{ each }} as col_{{ loop.index }}, {% endfor %}
            count(*) * {{ factor }} as number
        from {{ compare_model }} {{ rows_where(compare_row_condition) }}
        {% if there %}group by {{ there | join(", ") }}{% endif %}
    ) as there
    on true {% for each in here %}and here.col_{{ loop.index }} = there.col_{{ loop.index }} {% endfor %}
) as counted
where coalesce(rows_here, 0) <> coalesce(rows_there, 0)
{% endtest %}

{# NULL passes. #}
{% test expect_column_values_to_be_between(model, column_name, min_value=none, max_value=none, row_condition=none, strictly=false) %}
{{ holds(model, in_bounds(column_name, min_value, max_value, strictly), none, row_condition) }}
{% endtest %}

{# NULL passes: it has no length. #}
{% test expect_column_value_lengths_to_be_between(model, column_name, min_value=none, max_value=none, row_condition=none, strictly=false) %}
{% set length = "length(" ~ column_name ~ ")" %}
{{ holds(model, in_bounds(length, min_value, max_value, strictly), none, row_condition) }}
{% endtest %}

{% test expect_column_values_to_not_be_null(model, column_name, row_condition=none) %}
{{ holds(model, column_name ~ " is not null", none, row_condition) }}
{% endtest %}

{% test expect_column_values_to_be_null(model, column_name, row_condition=none) %}
{{ holds(model, column_name ~ " is null", none, row_condition) }}
{% endtest %}

{# Rows whose columns are all NULL are left out, unless `ignore_row_if` names another rule. #}
{% macro unique_rows(model, columns, ignored, condition) %}
{% set word = {"all_values_are_missing": " or ", "any_value_is_missing": " and "}.get(ignored, "") %}
select {{ columns | join(", ") }}, count(*) as n_records from {{ model }}
where ({{ condition or "true" }})
{% if word %} and ({{ columns | join(" is not null" ~ word) }} is not null){% endif %}
group by {{ columns | join(", ") }} having count(*) > 1
{% endmacro %}

{% test expect_compound_columns_to_be_unique(model, column_list, quote_columns=false, ignore_row_if="all_values_are_missing", row_condition=none) %}
{% set mark = "`" if quote_columns else "" %}
{% set columns = (mark ~ (column_list | join(mark ~ "\n" ~ mark)) ~ mark).split("\n") %}
{{ unique_rows(model, columns, ignore_row_if, row_condition) }}
{% endtest %}

{# NULLs are left out. #}
{% test expect_column_values_to_be_unique(model, column_name, row_condition=none) %}
{{ unique_rows(model, [column_name], "all_values_are_missing", row_condition) }}
{% endtest %}

{% macro literals(values, is_quoted) %}
{% for each in values %}{% if is_quoted %}'{{ each | string | replace("'", "\\'") }}'{% else %}{{ each }}{% endif %}{% if not loop.last %}, {% endif %}{% endfor %}
{% endmacro %}

{# NULL fails; leave it out with row_condition. #}
{% test expect_column_values_to_be_in_set(model, column_name, value_set, quote_values=true, row_condition=none) %}
select value_field from (
    select {{ column_name }} as value_field from {{ model }} {{ rows_where(row_condition) }}
) as found
where not coalesce(value_field in ({{ literals(value_set, quote_values) }}), false)
{% endtest %}

{# NULL passes. #}
{% test expect_column_values_to_not_be_in_set(model, column_name, value_set, quote_values=true, row_condition=none) %}
select value_field from (
    select {{ column_name }} as value_field from {{ model }} {{ rows_where(row_condition) }}
) as found
where value_field in ({{ literals(value_set, quote_values) }})
{% endtest %}

{% macro matches(column_name, regex) %}
{{ column_name }} rlike '{{ regex | replace("\\", "\\\\") | replace("'", "\\'") }}'
{%- endmacro %}

{# NULL passes. #}
{% test expect_column_values_to_match_regex(model, column_name, regex, row_condition=none) %}
{{ holds(model, matches(column_name, regex), none, row_condition) }}
{% endtest %}

{# NULL passes. #}
{% test expect_column_values_to_not_match_regex(model, column_name, regex, row_condition=none) %}
{{ holds(model, "not (" ~ matches(column_name, regex) ~ ")", none, row_condition) }}
{% endtest %}

{# Compares the type of the column, also in a table without rows. #}
{% test expect_column_values_to_be_of_type(model, column_name, column_type) %}
{% set known = {"integer": "int", "long": "bigint", "varchar": "string", "text": "string", "bool": "boolean", "real": "float"} %}
{% set wanted = column_type | lower %}
select found from (
    select typeof(any_value({{ column_name }})) as found from {{ model }}
) as typed
where found <> '{{ known.get(wanted, wanted) }}'
{% endtest %}

{# Values in the future do not count. A table without other values fails. #}
{% test expect_row_values_to_have_recent_data(model, column_name, datepart, interval, row_condition=none) %}
select * from (
    select max(cast({{ column_name }} as timestamp)) as max_timestamp from {{ model }}
    where cast({{ column_name }} as timestamp) <= current_timestamp() and ({{ row_condition or "true" }})
) as measured
where coalesce(max_timestamp, timestamp '1970-01-01')
    < timestampadd({{ datepart }}, {{ interval * -1 }}, current_timestamp())
{% endtest %}

{# A sum of NULLs alone passes. #}
{% test expect_multicolumn_sum_to_equal(model, column_list, sum_total, group_by=none, row_condition=none) %}
{% set total = sum_total if sum_total is number else "sum(" ~ sum_total ~ ")" %}
{{ holds(model, "sum(" ~ (column_list | join(") + sum(")) ~ ") = " ~ total, group_by, row_condition) }}
{% endtest %}
