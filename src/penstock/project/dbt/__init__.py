"""From a dbt project to the files of a penstock project: values in, values out."""
