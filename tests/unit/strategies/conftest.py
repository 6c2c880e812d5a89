"""Projects of a few files, loaded for their strategies."""

import pytest

from penstock.core.errors import ProjectError
from penstock.project.load import load_project as load


@pytest.fixture
def load_project(tmp_path):
    """Write files and load them."""

    def loaded(files):
        for name, text in {"penstock.yml": "name: shop\n", **files}.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return load(tmp_path, environ={}, use_cache=False)

    return loaded


@pytest.fixture
def findings_of(load_project):
    """Write files and give what loading them finds, each on one line."""

    def found(files):
        try:
            said = load_project(files).findings
        except ProjectError as error:
            said = error.findings
        return sorted(each.render().partition("\n")[0] for each in said)

    return found
