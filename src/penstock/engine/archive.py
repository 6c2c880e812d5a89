"""The class-data archive: classes that a short run loads, parsed once and mapped from then on.

docs/decisions/0004-session-start.md says what it saves.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from importlib import util
from pathlib import Path

from penstock.engine.java import Java

_LIMIT_SECONDS = 600


def archive_path(java: Java, jars: tuple[str, ...], environ: Mapping[str, str]) -> Path:
    """Give where the archive of this Java, this Spark and these jars lies, or would lie."""
    spark = util.find_spec("pyspark")
    told = "\n".join((java.told, str(spark and spark.origin), *jars))
    key = hashlib.sha256(told.encode()).hexdigest()[:16]
    return cache_folder(environ) / f"session-{key}.jsa"


def cache_folder(environ: Mapping[str, str]) -> Path:
    """Give the user's cache folder of penstock."""
    caches = environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(caches, "penstock")


def make_archive(path: Path) -> bool:
    """Run a small session of every kind of statement and keep the classes that it loaded.

    Takes half a minute and some 200 MB. The file appears whole or not at all; False means that
    none was made, which costs only time.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent, prefix="training-") as folder:
        made = Path(folder, path.name)
        try:
            subprocess.run(
                [sys.executable, "-m", "penstock.engine.training", str(made)],
                capture_output=True,
                check=False,
                timeout=_LIMIT_SECONDS,
            )
        except subprocess.TimeoutExpired:
            return False
        if not made.is_file():
            return False
        made.replace(path)
    return True
