"""Which range of each input one partition reads, from the SQL of a body (spec/drift.md §6.3)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from penstock.core.names import InputName
from penstock.core.partition import Grid
from penstock.project.inference_values import Found, Inferred, InputShape, as_input

__all__ = ["RULES", "Found", "Inferred", "InputShape", "as_input", "digest", "infer"]

RULES = 2
"""Rises when the same SQL gives other mappings, so that what was kept is found anew."""


def infer(
    texts: tuple[str, ...], grid: Grid, inputs: Mapping[InputName, InputShape]
) -> dict[InputName, Inferred]:
    """Give what a partition of `grid` reads of every input that the texts mention.

    The texts are forms of one query: what any of them reads is read. Tables that views read are
    inputs too. `this` is under the name of the model. Imports sqlglot, which costs 0.2 s.
    """
    from penstock.project import inference_query  # a warm load saves the parser

    return inference_query.infer(texts, grid, inputs)


def digest(texts: tuple[str, ...], grid: Grid, inputs: Mapping[InputName, InputShape]) -> str:
    """Give the key under which the result of `infer` may be kept."""
    everything = (RULES, texts, grid, sorted(inputs.items()))
    return hashlib.sha256(repr(everything).encode("utf-8", "surrogatepass")).hexdigest()
