"""The model of fixture S with checks of a test."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from fakes.check_projects import user_stats
from penstock.core.checks.check import Check
from penstock.core.project import Project
from penstock.project.load import load_project


@pytest.fixture
def apart(tmp_path) -> Callable[..., Project]:
    """Load each project from a folder of its own."""

    def loaded(files: Mapping[str, str]) -> Project:
        root = tmp_path / str(len(list(tmp_path.iterdir())))
        for name, text in {"penstock.yml": "name: shop\n", **files}.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        return load_project(root, environ={}, use_cache=False)

    return loaded


@pytest.fixture
def after(load) -> Callable[..., tuple[Check, ...]]:
    """Load the model with checks under after and give them."""

    def loaded(*checks: str, **files: str) -> tuple[Check, ...]:
        return load(user_stats(*checks, **files)).models["user_stats"].checks.after

    return loaded


@pytest.fixture
def said(findings) -> Callable[..., list[str]]:
    """Load the model with checks under after and give the findings from their code on."""

    def found(*checks: str, **files: str) -> list[str]:
        lines = findings(user_stats(*checks, **files), hints=True)
        return [line.partition(": ")[2].partition(": ")[2] for line in lines]

    return found
