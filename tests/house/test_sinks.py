"""Whatever penstock writes passes `core/masking`: each place that writes is known here."""

import ast

from house.source import SRC, files, found

WRITES = {"write_text", "write_bytes", "echo", "print", "Console", "mkstemp", "touch"}
OPENING = {"w", "a", "x", "wb", "ab", "xb"}
SINKS = {
    # masked where they write
    "app/artifacts/write.py": "lines of the run's log",
    "app/services/files.py": "manifest.json, run_results.json and the names of a project",
    "app/site/files.py": "files of the site",
    "engine/jvm.py": "Spark's log: a pipe that is copied line by line",
    "engine/log/ends.py": "the cache of files of sources: paths, sizes, times, digests",
    "project/files/cache.py": "the parse cache: an entry with a secret is not kept",
    "ui/cli/output.py": "`say`, the console of the live table, and rows that a user asked for",
    "ui/render/live.py": "rows and lines of the live table, masked before they are cut",
    # what they write is no text of a run
    "app/commands/query.py": "rows that a user asked for, in a file",
    "app/commands/init.py": "a new project, made of templates",
    "app/commands/import_dbt.py": "a new project, made of another one",
    "engine/keeper.py": "an empty file: the lock of a socket",
    "engine/warm.py": "the standard input of a JVM: nothing is written",
    "engine/launch.py": "what the JVM is to read and others not: 0600, gone once it is read",
    "engine/disk/disks.py": "what those write that ask it",
    "engine/staged_files.py": "the log of a Delta table: a schema, and files of another one",
    "engine/log/fences.py": "commits of Delta logs: a token, whose reason is masked",
    "ui/cli/completion.py": "names of the project, of which none is a secret",
    "ui/cli/main.py": "help",
    "ui/cli/options.py": "help",
    "ui/cli/streams.py": "the standard streams, masked",
}


def test_only_known_places_write():
    writing = {
        str(path.relative_to(SRC)) for path in files() if any(map(writes, found(path, ast.Call)))
    }

    assert sorted(writing ^ set(SINKS)) == []


def writes(call):
    match call.func:
        case ast.Name(id=name) if name in WRITES:
            return True
        case ast.Attribute(value=ast.Call(func=ast.Name(id="disk_at")), attr=name):
            return name.startswith("put")
        case ast.Attribute(value=value, attr=name) if name in WRITES:  # `output.print` is ours
            return name != "print" or getattr(value, "attr", "") == "_console"
        case ast.Name(id="open") | ast.Attribute(attr="open" | "fdopen"):
            modes = [each.value for each in call.args if isinstance(each, ast.Constant)]
            return any(str(mode) in OPENING for mode in modes)
    return False
