{#
    Macros under the names that dbt_utils has for them, as SQL of Spark.
    docs/reference/utils.md lists them.
#}

{# A key of some columns: the same text, and so the same hash, as from dbt_utils. #}
{% macro generate_surrogate_key(field_list) %}
{%- set missing = "" if var("surrogate_key_treat_nulls_as_empty_strings", false) else "_dbt_utils_surrogate_key_null_" -%}
md5(concat(
{%- for each in field_list -%}
coalesce(cast({{ each }} as string), '{{ missing }}'){% if not loop.last %}, '-', {% endif %}
{%- endfor -%}
))
{%- endmacro %}

{# The key of dbt_utils before 1.0: NULL is the empty text. #}
{% macro surrogate_key(field_list) %}
{%- set fields = [field_list] if field_list is string else field_list -%}
md5(concat(
{%- for each in (fields | list) + (varargs | list) -%}
coalesce(cast({{ each }} as string), ''){% if not loop.last %}, '-', {% endif %}
{%- endfor -%}
))
{%- endmacro %}

{% macro group_by(n) %}group by {% for each in range(1, n + 1) %}{{ each }}{% if not loop.last %}, {% endif %}{% endfor %}{% endmacro %}

{# All columns but some; with a prefix, a suffix or new names each of them is written. #}
{% macro star(from, relation_alias=false, except=[], prefix="", suffix="", quote_identifiers=true, unquote_aliases=false, rename={}) %}
{%- set owner = relation_alias ~ "." if relation_alias else "" -%}
{%- set columns = adapter.get_columns_in_relation(from) if prefix or suffix or rename else [] -%}
{%- set left_out = except | map("lower") | list -%}
{%- set written = [] -%}
{%- for each in columns if each.name | lower not in left_out -%}
{%- do written.append(owner ~ each.quoted ~ " as `" ~ rename.get(each.name, prefix ~ each.name ~ suffix) ~ "`") -%}
{%- endfor -%}
{%- if written -%}{{ written | join(", ") }}
{%- else -%}{{ owner }}*{% if except %} except (`{{ except | join("`, `") }}`){% endif %}
{%- endif -%}
{%- endmacro %}

{# The rows of several tables under the names of all their columns; a missing one is NULL. #}
{% macro union_relations(relations, column_override=none, include=[], exclude=[], source_column_name="_dbt_source_relation", where=none) %}
{%- set wanted, left_out = include | map("lower") | list, exclude | map("lower") | list -%}
{%- set types, names, own = column_override or {}, {}, [] -%}
{%- for relation in relations -%}
{%- set columns = [] -%}
{%- for each in adapter.get_columns_in_relation(relation) -%}
{%- set name = each.name | lower -%}
{%- if name not in left_out and (not wanted or name in wanted) -%}
{%- do columns.append(name) -%}{%- do names.setdefault(name, each.name) -%}
{%- endif -%}
{%- endfor -%}
{%- do own.append(columns) -%}
{%- endfor -%}
{%- for relation in relations %}
(select {% if source_column_name is not none %}'{{ relation.schema }}.{{ relation.identifier }}' as `{{ source_column_name }}`, {% endif %}
{%- set columns = own[loop.index0] -%}
{%- for name, shown in names.items() -%}
{%- set value = "`" ~ shown ~ "`" if name in columns else "null" -%}
{%- if shown in types %}cast({{ value }} as {{ types[shown] }}){% else %}{{ value }}{% endif %} as `{{ shown }}`
{%- if not loop.last %}, {% endif -%}
{%- else %}*{%- endfor %} from {{ relation }}{% if where %} where {{ where }}{% endif %})
{%- if not loop.last %} union all{% endif -%}
{%- endfor %}
{%- endmacro %}

{# A row for each value of the columns that are neither kept by `exclude` nor dropped by `remove`. #}
{% macro unpivot(relation, cast_to="string", exclude=[], remove=[], field_name="field_name", value_name="value", quote_identifiers=false) %}
{%- set others = ((exclude or []) + (remove or [])) | map("lower") | list -%}
{%- set columns = [] -%}
{%- for each in adapter.get_columns_in_relation(relation) if each.name | lower not in others -%}
{%- do columns.append(each) -%}
{%- endfor -%}
{%- for each in columns %}
select {% for kept in exclude or [] %}`{{ kept }}`, {% endfor %}'{{ each.name }}' as `{{ field_name }}`, cast({{ each.quoted }} as {{ "string" if cast_to == "varchar" else cast_to }}) as `{{ value_name }}` from {{ relation }}
{%- if not loop.last %} union all{% endif -%}
{%- else %}
select * from {{ relation }}
{%- endfor %}
{%- endmacro %}

{% macro pivot(column, values, alias=true, agg="sum", cmp="=", prefix="", suffix="", then_value=1, else_value=0, quote_identifiers=true, distinct=false) %}
{%- for each in values %}
{{ agg }}({% if distinct %}distinct {% endif %}case when {{ column }} {{ cmp }} '{{ each | string | replace("'", "\\'") }}' then {{ then_value }} else {{ else_value }} end)
{%- if alias %} as {% if quote_identifiers %}`{{ prefix }}{{ each }}{{ suffix }}`{% else %}{{ slugify(prefix ~ each ~ suffix) }}{% endif %}{% endif -%}
{%- if not loop.last %},{% endif -%}
{%- endfor %}
{%- endmacro %}

{# The first row of each group; ties are broken by Spark. #}
{% macro get_column_values(table, column, order_by="count(*) desc", max_records=none, default=[], where=none) %}
{%- set asked -%}
select {{ column }} as value from {{ table }}{% if where %} where {{ where }}{% endif %}
group by {{ column }} order by {{ order_by }}, {{ column }}{% if max_records %} limit {{ max_records }}{% endif %}
{%- endset -%}
{%- set read = run_query(asked) -%}
{{ return(read.columns[0].values() | list if read else default) }}
{% endmacro %}

{% macro get_query_results_as_dict(query) %}
{%- set read, values = run_query(query), {} -%}
{%- for name, column in read.columns.items() if execute -%}{%- do values.update({name: column.values()}) -%}{%- endfor -%}
{{ return(values) }}
{% endmacro %}

{% macro get_single_value(query, default=none) %}
{%- set read = run_query(query) -%}
{{ return(read[0][0] if read else default) }}
{% endmacro %}

{% macro deduplicate(relation, partition_by, order_by) %}
select * except (row_of_key) from (
    select *, row_number() over (partition by {{ partition_by }} order by {{ order_by }}) as row_of_key
    from {{ relation }}
) as numbered
where row_of_key = 1
{%- endmacro %}

{# One row per period from the start up to, and without, the end. #}
{% macro date_spine(datepart, start_date, end_date) %}
select date_{{ datepart }} from (
    select explode(
        case when {{ start_date }} < {{ end_date }}
        then sequence({{ start_date }}, {{ end_date }}, interval 1 {{ datepart }}) end
    ) as date_{{ datepart }}
) as spine
where date_{{ datepart }} < {{ end_date }}
{%- endmacro %}

{% macro generate_series(upper_bound) %}
select explode(sequence(1, {{ upper_bound }})) as generated_number
{%- endmacro %}

{# NULL if the denominator is 0. #}
{% macro safe_divide(numerator, denominator) %}({{ numerator }}) / nullif(({{ denominator }}), 0){% endmacro %}

{# NULL counts as 0. #}
{% macro safe_add(field_list) %}
{%- for each in field_list -%}coalesce({{ each }}, 0){% if not loop.last %} + {% endif %}{%- endfor -%}
{%- endmacro %}

{# NULL counts as 0. #}
{% macro safe_subtract(field_list) %}
{%- for each in field_list -%}coalesce({{ each }}, 0){% if not loop.last %} - {% endif %}{%- endfor -%}
{%- endmacro %}

{# A text as a name: lower case, `_` for spaces and dashes, without other signs. #}
{% macro slugify(string) %}
{%- set name = namespace(text="") -%}
{%- for sign in (string or "") | lower -%}
{%- if sign in " -" -%}
{%- if not (loop.previtem is defined and loop.previtem in " -") -%}{%- set name.text = name.text ~ "_" -%}{%- endif -%}
{%- elif sign in "abcdefghijklmnopqrstuvwxyz0123456789_" -%}{%- set name.text = name.text ~ sign -%}
{%- endif -%}
{%- endfor -%}
{%- if name.text[:1] in ("0", "1", "2", "3", "4", "5", "6", "7", "8", "9") -%}_{%- endif -%}
{{ name.text }}
{%- endmacro %}

{% macro get_url_host(field) %}
regexp_extract({{ field }}, '^(?:(?:android-app|http|https)://)?([^/?]*)', 1)
{%- endmacro %}

{# NULL without the parameter, or with an empty one. #}
{% macro get_url_parameter(field, url_parameter) %}
nullif(split_part(split_part({{ field }}, '{{ url_parameter }}=', 2), '&', 1), '')
{%- endmacro %}

{# In miles, or with unit "km" in kilometres. #}
{% macro haversine_distance(lat1, lon1, lat2, lon2, unit="mi") %}
2 * 3961 * asin(sqrt(
    power(sin(radians(({{ lat2 }} - {{ lat1 }}) / 2)), 2)
    + cos(radians({{ lat1 }})) * cos(radians({{ lat2 }})) * power(sin(radians(({{ lon2 }} - {{ lon1 }}) / 2)), 2)
)) * {{ {"mi": 1, "km": 1.60934}[unit] }}
{%- endmacro %}

{# From 1 on; 0 is below the first bucket, and one more than their number is above the last. #}
{% macro width_bucket(expr, min_value, max_value, num_buckets) %}
width_bucket({{ expr }}, {{ min_value }}, {{ max_value }}, {{ num_buckets }})
{%- endmacro %}
