"""One model file: from template to query and header. The result of this first pass is cached."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from penstock.core.findings import Finding, Location
from penstock.core.masking import SECRETS
from penstock.core.strategy import Strategy, register, strategies
from penstock.project.files.nodes import node_of
from penstock.project.files.parsed import (
    READS_CODE,
    Branch,
    Outputs,
    RefKind,
    RowsQuery,
    SqlFile,
    TableRef,
    located,
    numbered,
    path_of,
)
from penstock.project.files.render_context import RenderContext
from penstock.project.files.values import Path, Plain
from penstock.project.processes import answer, on_all_cores, shared
from penstock.project.settings.config import HOOK_KEYS
from penstock.project.settings.model_keys import HeaderSection
from penstock.project.settings.validation import findings_of
from penstock.project.sql.branches import read_branch, unparsed
from penstock.project.sql.canonical import (
    NotAQueryError,
    is_ordered,
)
from penstock.project.sql.context.rendering import ConfigCall, Rendering
from penstock.project.sql.hook_sql import with_calls
from penstock.project.sql.parameters import (
    with_destination,
)
from penstock.project.sql.template import Renderer
from penstock.project.sql.template_lines import line_of

_WORTH_A_PROCESS = 200  # files; a process starts in the time that it takes to read half of them


def parse_sql_files(
    texts: Mapping[str, str], macros: Mapping[str, str], render_context: RenderContext
) -> dict[str, SqlFile]:
    """Render and parse model files; `texts` and `macros` map paths to contents.

    The query of a YAML entry has the `place_key` of its file and entry. Findings of macro files are
    added to the first model file. Many files are read on all cores, by processes that receive all
    their input.
    """
    keys, renderer = list(texts), Renderer(macros, render_context)

    def here(share: Sequence[str]) -> dict[str, SqlFile]:
        return {key: parse_model(renderer, key, texts[key]) for key in share}

    def request(share: Sequence[str]) -> tuple[str, object]:
        part = {key: texts[key] for key in share}
        known = tuple(strategies().values())
        return __name__, (known, SECRETS.forms, part, macros, render_context)

    parts = on_all_cores(shared(keys, _WORTH_A_PROCESS), here, request)
    result = {key: file for part in parts for key, file in part.items()}
    result = {key: result[key] for key in keys}
    first, file = next(iter(result.items()))
    result[first] = replace(file, findings=(*file.findings, *renderer.findings))
    return result


def serve() -> None:
    """Parse the files in stdin and write the results to stdout, both pickled."""
    answer(_parse_elsewhere)


def _parse_elsewhere(
    classes: Sequence[type[Strategy]],
    secrets: Iterable[str],
    texts: Mapping[str, str],
    macros: Mapping[str, str],
    render_context: RenderContext,
) -> dict[str, SqlFile]:
    SECRETS.add(secrets)  # findings are masked before they are cut
    for strategy in classes:
        register(strategy)
    renderer = Renderer(macros, render_context)
    return {key: parse_model(renderer, key, text) for key, text in texts.items()}


def renderer_of(macros: Mapping[str, str], render_context: RenderContext) -> Renderer:
    """Return what renders the checks of one load."""
    return Renderer(macros, render_context)


def parse_check(renderer: Renderer, path: str, text: str, line: int) -> SqlFile:
    """Render and parse the SQL of a check; its header is ignored.

    Leading newlines give it the line numbers of its file, for messages of the renderer.
    """
    rendering = renderer.render(path, "\n" * (line - 1) + text, incremental=False)
    config = {key: value for each in rendering.configs for key, value in each.settings.items()}
    lines = {key: at for each in rendering.configs for key, at in each.lines.items()}
    first = rendering.configs[0].line if rendering.configs else 1
    findings, branches = [*rendering.findings], list[Branch]()
    if not any(each.is_error for each in findings):
        written, unknown = with_destination(rendering.text)
        branches, found = _branches(path, written, rendering.calls, 1)
        findings += [*found, *located(unknown, path)]
    findings = [
        replace(
            each, sentence=each.sentence.replace("a model is one query", "one query is expected")
        )
        for each in findings
    ]
    reads = sorted(rendering.reads, key=lambda read: (read.kind, read.name))
    return SqlFile(
        path, config, first, lines, tuple(branches), tuple(dict.fromkeys(findings)), tuple(reads)
    )


def parse_plain_sql(path: str, text: str, line: int = 1) -> SqlFile:
    """Parse a query without a template; `line` is its first line in the file.

    The result has one branch, or none with an error; line numbers are those of `path`.
    """
    branches, findings = _branches(path, text, (), line)
    return SqlFile(path, branches=tuple(branches), findings=tuple(findings))


def _branches(
    path: str, text: str, calls: Sequence[TableRef], line: int
) -> tuple[list[Branch], list[Finding]]:
    """Return the branch of a query, or none with an error."""
    try:
        branch, problems = read_branch(text, calls)
    except NotAQueryError as error:
        where = Location(path, error.line + line - 1)
        return [], [Finding(where, "not-a-query", error.sentence)]
    refs = tuple(replace(ref, line=ref.line + line - 1) for ref in branch.refs)
    columns = tuple(replace(each, line=each.line + line - 1) for each in branch.outputs.columns)
    outputs = replace(branch.outputs, columns=columns)
    return [replace(branch, refs=refs, outputs=outputs)], located(problems, path, line)


def parse_model(renderer: Renderer, key: str, text: str) -> SqlFile:
    """Render and parse one model file, or the query of an entry.

    A template that asked for what is not known yet gives its header only. One that reads rows which
    no run has read yet gives a query that stands for its text.
    """
    path = path_of(key)
    renderings = [renderer.render(path, text, incremental=False, key=key, may_read=True)]
    header = _header(renderings[0])
    findings = [*renderings[0].findings, *header.findings]
    if renderings[0].is_branching and not any(each.is_error for each in findings):
        again = renderer.render(path, text, incremental=True, key=key, may_read=True)
        renderings.append(again)
        findings += renderings[1].findings
    reads = sorted(set().union(*(r.reads for r in renderings)), key=lambda r: (r.kind, r.name))
    if any(each.is_pending for each in renderings):
        return replace(header, reads=tuple(reads), findings=tuple(header.findings))
    branches: list[Branch] = []
    queries: dict[str, RowsQuery] = {}
    for rendering in renderings if not any(f.is_error for f in findings) else ():
        asked, found = _queries(rendering)
        findings += found
        if rendering.executes:
            read, found = _branches(path, rendering.text, rendering.calls, 1)
            findings += found
        else:
            read = [_stand_in(rendering)]
        tables = [ref for each in asked for ref in each.branch.mentioned]
        wider = (replace(each, refs=(*each.refs, *tables)) for each in read) if tables else read
        branches += (each for each in wider if each not in branches)
        queries |= {each.key: each for each in asked}
    unique = tuple(dict.fromkeys(findings))
    return replace(
        header,
        branches=tuple(branches),
        findings=unique,
        reads=tuple(reads),
        queries=tuple(queries.values()),
        waits=not all(each.executes for each in renderings),
    )


def _queries(rendering: Rendering) -> tuple[list[RowsQuery], list[Finding]]:
    """Parse the queries whose rows a template reads."""
    queries, findings = list[RowsQuery](), list[Finding]()
    for key, asked in rendering.queries.items():
        try:
            branch, _ = read_branch(asked.text, asked.calls)
        except NotAQueryError as error:
            where = Location(rendering.path, asked.line)
            sentence = f"run_query: {error.sentence.replace('a model is', 'it takes')}"
            hint = "a template reads rows only; write other statements as hooks"
            findings.append(Finding(where, READS_CODE, sentence, hint))
            continue
        refs = tuple(
            replace(each, line=asked.line) if each.kind is RefKind.PLAIN else each
            for each in branch.refs
        )
        branch = replace(branch, refs=refs)
        queries.append(RowsQuery(key, branch, asked.line, is_ordered(asked.text)))
    return queries, findings


def _stand_in(rendering: Rendering) -> Branch:
    """Return what stands for a query while the rows that its template reads are unknown.

    That is its text without them if it can be parsed, else all of its tables.
    """
    try:
        branch, problems = read_branch(rendering.text, rendering.calls)
    except NotAQueryError:
        problems = [unparsed(None)]
    if not problems:
        return replace(branch, outputs=Outputs())
    calls = [replace(each, bare=True) for each in rendering.calls if not each.qualifies]
    tables = " cross join ".join(map(numbered, range(len(calls))))
    text = f"select * from {tables}" if calls else "select 1"
    return Branch(text, text, tuple(calls))


def _header(rendering: Rendering) -> SqlFile:
    config: dict[str, Plain] = {}
    lines: dict[str, int] = {}
    findings: list[Finding] = []
    for call in rendering.configs:

        def places(path: Path, _key: bool, call: ConfigCall = call) -> Location:  # noqa: FBT001  shared
            return Location(rendering.path, line_of(call.lines, path, call.line))

        findings += findings_of(HeaderSection, node_of(call.settings, places))
        twice = sorted(config.keys() & call.settings.keys())
        if twice:
            sentence = f"{twice[0]!r} is set in two config headers"
            findings.append(Finding(places((twice[0],), True), "duplicate-key", sentence))  # noqa: FBT003  the key
        config |= {
            key: with_calls(each, rendering.calls) if key in HOOK_KEYS else each
            for key, each in call.settings.items()
        }
        lines |= {**dict.fromkeys(call.settings, call.line), **call.lines}
    line = rendering.configs[0].line if rendering.configs else 1
    return SqlFile(rendering.path, config, line, lines, findings=tuple(findings))
