"""Files of tables, logs, slices, sources and staging are touched by `engine/disk` alone."""

import ast

from house.source import SRC, files, found

CALLS = {
    *("exists", "glob", "hardlink_to", "is_dir", "is_file", "iterdir", "link", "listdir"),
    *("makedirs", "mkdir", "mkdtemp", "mkstemp", "open", "read_bytes", "read_text", "rename"),
    *("rglob", "rmdir", "rmtree", "scandir", "stat", "touch", "unlink", "write_bytes"),
    "write_text",
}
OF_OTHERS = {"disk", "disk_at", "tree", "Opening"}
"""What is asked here is not a file system."""
OTHER_FILES = {
    # files of the project
    "app/application.py": "where a script's project lies",
    "app/metadata.py": "native files of entities",
    "app/commands/clean.py": "caches and artifacts in the project's own folder",
    "app/commands/init.py": "a new project, made of templates",
    "app/commands/import_dbt.py": "a project of dbt, and the new one",
    "app/commands/validate.py": "notes and secrets in files of the project",
    "app/services/wire.py": "the project's own folder, its logs and its state",
    "app/services/services.py": "Spark's log in the project's own folder",
    "app/artifacts/manifest.py": "files of models, for their text",
    "app/artifacts/write.py": "the log of a run",
    "app/services/files.py": "manifest.json, run_results.json and the names of a project",
    "app/site/cache.py": "what the site of the project was made of",
    "app/site/models.py": "files of models, for their text",
    "app/services/catalog_sources.py": "where tables of a catalog were, in the project's folder",
    # files that a user names
    "app/commands/query.py": "rows that a user asked for, in a file",
    "app/commands/state.py": "an export of the state",
    "app/site/files.py": "a site, in a folder",
    # what belongs to this machine
    "app/commands/doctor.py": "whether this machine can hold a warehouse",
    "app/commands/test.py": "the temporary warehouse of unit tests",
    "app/unit_testing/preparing.py": "the temporary warehouse of unit tests",
    "engine/connectors.py": "jars of the connector, and of penstock",
    "engine/java.py": "Java, jars and what they keep between sessions",
    "engine/jvm.py": "Spark's log",
    "engine/keeper.py": "sockets of the process that keeps a JVM",
    "engine/launch.py": "jars, and what a JVM is to read",
    "engine/warm.py": "files that tell one JVM from another",
    "engine/reading.py": "footers of Parquet, which the JVM opens",
}


def test_only_the_disk_touches_files_of_tables():
    rooms = ("engine", "app", "strategies")
    touching = {
        str(path.relative_to(SRC))
        for path in files()
        if path.relative_to(SRC).parts[0] in rooms and SRC / "engine" / "disk" not in path.parents
        if any(map(touches, found(path, ast.Call)))
    }

    assert sorted(touching ^ set(OTHER_FILES)) == []


def touches(call):
    match call.func:
        case ast.Name(id="open"):
            return True
        case ast.Attribute(value=ast.Name(id=owner) | ast.Call(func=ast.Name(id=owner))):
            return call.func.attr in CALLS and owner not in OF_OTHERS
        case ast.Attribute(attr=name):
            return name in CALLS
    return False
