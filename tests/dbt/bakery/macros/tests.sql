{% test at_least(model, column_name, value) %}
select * from {{ model }} where {{ column_name }} < {{ value }}
{% endtest %}

{% test has_rows(model) %}
select 1 where (select count(*) from {{ model }}) = 0
{% endtest %}
