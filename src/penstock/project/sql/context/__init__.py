"""What a template can call beside Jinja itself: dbt's context, in a sandbox."""
