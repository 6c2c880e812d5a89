"""What catalogues read: manifest.json and run_results.json in dbt's shapes."""
