"""Read Delta logs and files, and fence tables, without a JVM."""
