"""The only access to Spark and Delta."""
