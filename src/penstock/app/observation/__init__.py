"""Read the current tables, inputs and records. Writes nothing and starts no JVM."""
