"""Steps: their intents, inputs, results and commit tokens."""
