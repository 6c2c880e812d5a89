"""Versioned models: YAML files with dated generations of SQL, read into models.

`gather` reads the keys of every file, `schema` and `versions` their values, `given` checks the
parts against each other, `model` builds the models once all names are known.
"""
