"""The only hands on Spark and Delta."""
