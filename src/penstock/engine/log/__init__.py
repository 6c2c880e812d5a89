"""Delta logs and files, read and fenced without a JVM."""
