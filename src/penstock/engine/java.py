"""Finding a Java that Spark can run on, and saying how to get one."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from penstock.core.errors import EnvironmentMissingError

NEEDED = 17
_VERSION = re.compile(r'version "(\d+)')
_INSTALL = (
    ("apt-get", "sudo apt-get install -y openjdk-17-jre-headless"),
    ("dnf", "sudo dnf install -y java-17-openjdk-headless"),
    ("brew", "brew install openjdk@17"),
    ("apk", "sudo apk add openjdk17-jre-headless"),
)


@dataclass(frozen=True, slots=True)
class Java:
    """A Java that was found; `version` is its feature number, for example 17.

    `told` is all that `java -version` says: another build of the same version says something else.
    """

    executable: str
    version: int
    told: str = ""


def find_java(environ: Mapping[str, str]) -> Java | None:
    """Give the Java that Spark will use: JAVA_HOME first, then PATH; None if there is none."""
    home = environ.get("JAVA_HOME")
    found = (
        str(Path(home, "bin", "java")) if home else shutil.which("java", path=environ.get("PATH"))
    )
    if not found or not os.access(found, os.X_OK):
        return None
    told = subprocess.run([found, "-version"], capture_output=True, text=True, check=False)
    text = told.stderr + told.stdout
    version = _VERSION.search(text)
    return Java(found, int(version[1]), text) if version else None


def is_whole(java: Java) -> bool:
    """Whether it has the module that Spark needs and that reduced builds leave out."""
    told = subprocess.run(
        [java.executable, "--list-modules"], capture_output=True, text=True, check=False
    )
    return "jdk.incubator.vector" in told.stdout


def how_to_install() -> str:
    """Give the command that installs Java on this system."""
    command = next((line for tool, line in _INSTALL if shutil.which(tool)), "")
    if command:
        return f"install it with: {command}"
    where = "" if sys.platform.startswith(("linux", "darwin")) else " for Windows"
    return f"install a Java 17 runtime{where} and set JAVA_HOME to it"


def require_java(environ: Mapping[str, str]) -> Java:
    """Give a Java that is new enough, or raise `java-missing` (case J9)."""
    java = find_java(environ)
    if java is None:
        raise EnvironmentMissingError(
            "java-missing",
            f"Spark needs Java {NEEDED} or newer and none was found",
            hint=how_to_install(),
        )
    if java.version < NEEDED:
        raise EnvironmentMissingError(
            "java-too-old",
            f"Spark needs Java {NEEDED} or newer; {java.executable} is {java.version}",
            hint=how_to_install(),
        )
    return java
