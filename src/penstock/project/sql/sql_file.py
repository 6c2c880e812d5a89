"""One model file: template to query and header. The first pass, whose result the cache keeps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from penstock.core.findings import Finding, Location
from penstock.project.files.parsed import Branch, RenderContext, SqlFile, located, path_of
from penstock.project.files.values import Path, Plain
from penstock.project.settings.shapes import HeaderShape
from penstock.project.settings.validation import shape_findings
from penstock.project.sql.canonical import NotAQueryError
from penstock.project.sql.mentions import read_branch
from penstock.project.sql.template import ConfigCall, Renderer, Rendering
from penstock.project.sql.template_lines import line_of


def parse_sql_files(
    texts: Mapping[str, str], macros: Mapping[str, str], render_context: RenderContext
) -> dict[str, SqlFile]:
    """Render and read model files; `texts` and `macros` map paths to what the files hold.

    The query of a YAML entry stands under the file's path and the entry's, as `place_key` joins
    them.
    Findings of macro files stand with the first model file.
    """
    renderer = Renderer(macros, render_context)
    result = {key: _parse(renderer, path_of(key), text) for key, text in texts.items()}
    if renderer.findings:
        first = next(iter(result))
        file = result[first]
        findings = (*file.findings, *renderer.findings)
        result[first] = replace(file, findings=findings)
    return result


def parse_plain_sql(path: str, text: str, line: int = 1) -> SqlFile:
    """Read a query that is no template; `line` is where it begins in its file.

    The result holds one branch, or none beside an error; all lines count in `path`. It may be kept
    in the cache as `write_sql` writes it.
    """
    try:
        branch, problems = read_branch(text, ())
    except NotAQueryError as error:
        where = Location(path, error.line + line - 1)
        return SqlFile(path, findings=(Finding(where, "not-a-query", error.sentence),))
    return SqlFile(
        path, branches=(_moved(branch, line - 1),), findings=tuple(located(problems, path, line))
    )


def _moved(branch: Branch, lines: int) -> Branch:
    if not lines:
        return branch
    refs = tuple(replace(ref, line=ref.line + lines) for ref in branch.refs)
    columns = tuple(replace(one, line=one.line + lines) for one in branch.outputs.columns)
    return replace(branch, refs=refs, outputs=replace(branch.outputs, columns=columns))


def _parse(renderer: Renderer, path: str, text: str) -> SqlFile:
    full = renderer.render(path, text, incremental=False)
    header = _header(full)
    findings = [*full.findings, *header.findings]
    renderings = [full]
    if renderer.asks_incremental(text) and not full.findings:
        renderings.append(renderer.render(path, text, incremental=True))
        findings += renderings[1].findings
    branches = []
    for rendering in renderings if not any(f.is_error for f in findings) else ():
        branch = _branch(rendering, findings)
        if branch is not None and branch not in branches:
            branches.append(branch)
    reads = sorted(set().union(*(r.reads for r in renderings)), key=lambda r: (r.kind, r.name))
    unique = tuple(dict.fromkeys(findings))
    return replace(header, branches=tuple(branches), findings=unique, reads=tuple(reads))


def _header(rendering: Rendering) -> SqlFile:
    config: dict[str, Plain] = {}
    lines: dict[str, int] = {}
    findings: list[Finding] = []
    for call in rendering.configs:

        def places(path: Path, key: bool, call: ConfigCall = call) -> Location:  # noqa: FBT001  shared
            del key
            return Location(rendering.path, line_of(call.lines, path, call.line))

        findings += shape_findings(HeaderShape, call.settings, places)
        twice = sorted(config.keys() & call.settings.keys())
        if twice:
            sentence = f"{twice[0]!r} is set in two config headers"
            findings.append(Finding(places((twice[0],), True), "duplicate-key", sentence))  # noqa: FBT003  the key
        config |= call.settings
        lines |= {**dict.fromkeys(call.settings, call.line), **call.lines}
    line = rendering.configs[0].line if rendering.configs else 1
    return SqlFile(rendering.path, config, line, lines, findings=tuple(findings))


def _branch(rendering: Rendering, findings: list[Finding]) -> Branch | None:
    path = rendering.path
    try:
        branch, problems = read_branch(rendering.text, rendering.calls)
    except NotAQueryError as error:
        findings.append(Finding(Location(path, error.line), "not-a-query", error.sentence))
        return None
    findings += located(problems, path)
    return branch
