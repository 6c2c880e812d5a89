"""Files to a `Project`: settings, SQL models, sources, seeds, selectors, fingerprints, findings.

Loading reads files and the environment it is given. It never touches the warehouse or the state,
and writes nothing but its parse cache. With a warm cache it imports no parser. Nothing is imported
here: the decorators lie below, and a file of models that needs only them must not pay for loading.
"""
