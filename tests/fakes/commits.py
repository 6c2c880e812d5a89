"""Commits of a table on a disk, without the fences that recovery puts up."""

from pathlib import Path

FENCE = '\\"kind\\":\\"fence\\"'
"""How a fence's token stands in a commit file: JSON within JSON."""


def commits(table: Path) -> list[int]:
    """Give the versions that are no fences, rising; none without a table."""
    files = sorted((table / "_delta_log").glob("*.json"))
    return [int(file.stem) for file in files if FENCE not in file.read_text(encoding="utf-8")]
