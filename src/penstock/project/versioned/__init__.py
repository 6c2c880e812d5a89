"""Versioned models: YAML files with dated generations of SQL, read into models.

`gather` reads the keys of every file, `schema` and `versions` what stands under them, `given`
checks the parts against each other, `model` gives the models once all names are known.
"""
