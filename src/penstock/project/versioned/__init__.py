"""Versioned models: YAML files with dated generations of SQL, read into models (spec/drift.md §1).

Files go through in one direction: `references` puts included files in, `document` reads the keys,
`schema` and `versions` what stands under them, `rules` checks them against each other, `model`
gives the models once every name of the project is known.
"""
