"""History tables: values in, stages and one MERGE out; entities bring terms of their own."""
