{#- dbt's cross-database macros as Spark SQL: `dbt.dateadd(…)`, or the bare name. -#}

{%- macro type_string() %}string{% endmacro %}
{%- macro type_int() %}int{% endmacro %}
{%- macro type_bigint() %}bigint{% endmacro %}
{%- macro type_float() %}float{% endmacro %}
{%- macro type_numeric() %}decimal(28, 6){% endmacro %}
{%- macro type_boolean() %}boolean{% endmacro %}
{%- macro type_timestamp() %}timestamp{% endmacro %}

{%- macro cast(field, type) %}cast({{ field }} as {{ type }}){% endmacro %}
{%- macro safe_cast(field, type) %}try_cast({{ field }} as {{ type }}){% endmacro %}
{%- macro cast_bool_to_text(expression) %}cast({{ expression }} as string){% endmacro %}

{%- macro current_timestamp() %}{{ run_timestamp }}{% endmacro %}
{%- macro current_timestamp_backcompat() %}{{ run_timestamp }}{% endmacro %}
{%- macro snapshot_get_time() %}{{ run_timestamp }}{% endmacro %}

{#- The unit may be quoted, as some macros pass it. -#}
{%- macro _unit(datepart) %}{{ return((datepart | string | lower).replace("'", "").strip()) }}{% endmacro %}

{%- macro dateadd(datepart, interval, from_date_or_timestamp) %}timestampadd({{ _unit(datepart) }}, {{ interval }}, cast({{ from_date_or_timestamp }} as timestamp)){% endmacro %}

{#- Counts the boundaries that lie between two times, as other databases do; Spark counts full units. -#}
{%- macro datediff(first_date, second_date, datepart) -%}
    {%- set unit = _unit(datepart) -%}
    {%- if unit == 'day' -%}
        datediff(cast({{ second_date }} as date), cast({{ first_date }} as date))
    {%- elif unit == 'week' -%}
        cast(datediff(date_trunc('week', cast({{ second_date }} as timestamp)), date_trunc('week', cast({{ first_date }} as timestamp))) div 7 as bigint)
    {%- elif unit in ('year', 'quarter', 'month') -%}
        {%- set months = {'year': 12, 'quarter': 3, 'month': 1}[unit] -%}
        cast(months_between(date_trunc('{{ unit }}', cast({{ second_date }} as timestamp)), date_trunc('{{ unit }}', cast({{ first_date }} as timestamp))) / {{ months }} as {{ 'int' if unit == 'year' else 'bigint' }})
    {%- elif unit in ('hour', 'minute', 'second') -%}
        timestampdiff({{ unit }}, date_trunc('{{ unit }}', cast({{ first_date }} as timestamp)), date_trunc('{{ unit }}', cast({{ second_date }} as timestamp)))
    {%- elif unit in ('millisecond', 'microsecond') -%}
        timestampdiff({{ unit }}, cast({{ first_date }} as timestamp), cast({{ second_date }} as timestamp))
    {%- else -%}
        {{ exceptions.raise_compiler_error("datediff: unknown unit '" ~ unit ~ "'") }}
    {%- endif -%}
{%- endmacro %}

{%- macro date_trunc(datepart, date) %}date_trunc('{{ _unit(datepart) }}', {{ date }}){% endmacro %}
{%- macro date(year, month, day) %}make_date({{ year }}, {{ month }}, {{ day }}){% endmacro %}

{%- macro last_day(date, datepart) -%}
    {%- if _unit(datepart) == 'month' -%}
        last_day(cast({{ date }} as date))
    {%- else -%}
        cast(date_add(cast(timestampadd({{ _unit(datepart) }}, 1, date_trunc('{{ _unit(datepart) }}', {{ date }})) as date), -1) as date)
    {%- endif -%}
{%- endmacro %}

{%- macro concat(fields) %}concat({{ fields | join(', ') }}){% endmacro %}
{%- macro hash(field) %}md5(cast({{ field }} as string)){% endmacro %}
{%- macro length(expression) %}length({{ expression }}){% endmacro %}
{%- macro position(substring_text, string_text) %}position({{ substring_text }}, {{ string_text }}){% endmacro %}
{%- macro replace(field, old_chars, new_chars) %}replace({{ field }}, {{ old_chars }}, {{ new_chars }}){% endmacro %}
{%- macro right(string_text, length_expression) %}right({{ string_text }}, {{ length_expression }}){% endmacro %}
{%- macro string_literal(value) %}'{{ value }}'{% endmacro %}

{#- Spark reads a backslash in a string as an escape. -#}
{%- macro escape_single_quotes(expression) %}{{ (expression | string).replace("'", "\\'") }}{% endmacro %}

{#- A negative part counts from the end. The delimiter is a text, not a pattern. -#}
{%- macro split_part(string_text, delimiter_text, part_number) %}split_part({{ string_text }}, {{ delimiter_text }}, {{ part_number }}){% endmacro %}

{%- macro any_value(expression) %}any_value({{ expression }}){% endmacro %}
{%- macro bool_or(expression) %}bool_or({{ expression }}){% endmacro %}

{%- macro listagg(measure, delimiter_text="','", order_by_clause=none, limit_num=none) -%}
    {%- set ordered = order_by_clause and (order_by_clause | string | trim) -%}
    {%- if ordered and limit_num -%}
        array_join(slice(split(listagg(cast({{ measure }} as string), '\u0001') within group ({{ ordered }}), '\u0001'), 1, {{ limit_num }}), {{ delimiter_text }})
    {%- elif ordered -%}
        listagg(cast({{ measure }} as string), {{ delimiter_text }}) within group ({{ ordered }})
    {%- elif limit_num -%}
        array_join(slice(collect_list(cast({{ measure }} as string)), 1, {{ limit_num }}), {{ delimiter_text }})
    {%- else -%}
        array_join(collect_list(cast({{ measure }} as string)), {{ delimiter_text }})
    {%- endif -%}
{%- endmacro %}

{%- macro array_construct(inputs=[], data_type=none) %}array({{ inputs | join(', ') }}){% endmacro %}
{%- macro array_append(array, new_element) %}array_append({{ array }}, {{ new_element }}){% endmacro %}
{%- macro array_concat(array_1, array_2) %}concat({{ array_1 }}, {{ array_2 }}){% endmacro %}

{%- macro except() %}except{% endmacro %}
{%- macro intersect() %}intersect{% endmacro %}

{%- macro equals(expr1, expr2) %}({{ expr1 }} <=> {{ expr2 }}){% endmacro %}
{%- macro get_intervals_between(start_date, end_date, datepart) -%}
    {{ exceptions.raise_compiler_error("get_intervals_between reads rows: write sequence(start, end, interval) in SQL") }}
{%- endmacro %}
