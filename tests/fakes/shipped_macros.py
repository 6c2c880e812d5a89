"""The macros that penstock ships, rendered as a model would call them."""

from __future__ import annotations

from pathlib import Path

import penstock.project
from penstock.project.files.render_context import RenderContext
from penstock.project.sql.template import Renderer

FOLDER = Path(penstock.project.__file__).parent / "utils"
FILES = {path.name: path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.sql"))}
OWN = ("tests.sql", "expectations.sql", "macros.sql")


def rendered(call: str, **variables: object) -> str:
    """Render a call such as `test_at_least_one(model='t', column_name='a')` on one line."""
    macros = {name: FILES[name] for name in OWN}
    renderer = Renderer(macros, RenderContext({}, variables))
    assert renderer.findings == []
    found = renderer.render("query", f"{{{{ {call} }}}}", incremental=False)
    if found.findings:
        raise ValueError(found.findings[0].render())
    return " ".join(found.text.split())


def failing(test: str, **arguments: object) -> str:
    """Render the SQL of a shipped test on a table."""
    given = ", ".join(f"{name}={value!r}" for name, value in arguments.items())
    return rendered(f"test_{test}({given})")
