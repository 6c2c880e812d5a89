"""PyYAML that also reads `${{ … }}` where a whole value stands (spec/drift.md §1.5)."""

from __future__ import annotations

import re

import yaml

_WHOLE = re.compile(r"\$\{\{[ \t]*(.+?)[ \t]*\}\}")
_BARE = re.compile(r"(\$\{\{[^\n]*?\}\})[ \t]*(?=[ \t]#|\r?\n|\0|\Z)")
_INNER = re.compile(r"file:[ \t]*\S.*|versions\.[^.\s]*\.\w+")


class ReferenceLoader(yaml.SafeLoader):
    """Reads bare references as plain scalars.

    The bare form with `file:` is no YAML; it is taken as one scalar where a plain value may begin,
    so comments, block scalars and longer strings never hold one.
    """

    def scan_plain(self) -> yaml.ScalarToken:
        """Take a bare reference as one token, else do what YAML says."""
        found = None if self.flow_level else _BARE.match(self.buffer, self.pointer)
        if found is None or inner_of(found[1]) is None:
            return super().scan_plain()
        start = self.get_mark()
        self.forward(len(found[1]))
        return yaml.ScalarToken(found[1], True, start, self.get_mark())  # noqa: FBT003  plain


def inner_of(text: str) -> str | None:
    """Give what stands between the braces of a reference, None for any other text.

    >>> (
    ...     inner_of("${{ file: a b.yaml }}"),
    ...     inner_of("${{ versions.1.schema }}"),
    ...     inner_of("${{ x }}"),
    ... )
    ('file: a b.yaml', 'versions.1.schema', None)
    """
    found = _WHOLE.fullmatch(text)
    return found[1] if found and "}}" not in found[1] and _INNER.fullmatch(found[1]) else None


def reference_in(node: yaml.ScalarNode) -> str | None:
    """Give the reference that a scalar is; a block scalar is never one."""
    return None if node.style in ("|", ">") else inner_of(node.value)
