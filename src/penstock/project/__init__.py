"""Turn files into a `Project`: settings, SQL models, sources, seeds, selectors, findings.

Loading reads files and the given environment. It never touches the warehouse or the state, and
writes only its parse cache. With a warm cache it imports no parser. Nothing is imported here: the
decorators are in this package, and importing them must stay fast.
"""
