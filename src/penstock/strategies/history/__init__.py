"""History tables: values in, stages and one MERGE out; entities use them with their own terms."""
