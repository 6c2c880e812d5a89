"""Looking at tables, inputs and records as they are now. Nothing is written, no JVM starts."""
