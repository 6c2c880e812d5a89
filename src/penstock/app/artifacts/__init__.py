"""Files for data catalogs: manifest.json and run_results.json in dbt's format."""
