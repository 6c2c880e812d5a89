"""How the schema of the state store came to be, one file per step."""
