"""Versioned models: YAML files with dated generations of SQL, read into models (spec/drift.md §1).

Files go through in one direction: `files.references` puts included files in, `shape` reads the
keys, `schema` and `versions` what stands under them, `rules` checks them against each other,
`gather` does so for all files, `model` gives the models once every name of the project is known.
"""
