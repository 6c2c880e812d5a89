"""Packages in dbt_packages/: which are there, and which the project uses."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from penstock.project.dbt.editing.yaml_edits import compose, plain
from penstock.project.dbt.gather import Package
from penstock.project.dbt.notes import FileLog, FileNotes, RefusedProjectError
from penstock.project.dbt.settings import DbtSettings, read_settings
from penstock.project.files.discovery import DBT_FILE
from penstock.project.files.macro_files import macro_names, shipped_macros
from penstock.project.files.values import Plain, list_of, mapping_of, text_of

FOLDER = "dbt_packages/"
_LISTS = ("packages.yml", "dependencies.yml")
_DEPS = "run dbt deps in the dbt project and import again: nothing of this package is there"


def read_packages(
    settings: DbtSettings, texts: Mapping[str, str]
) -> tuple[list[Package], list[FileNotes]]:
    """Return the project itself and the packages that are installed, with notes of the lists."""
    own = {path: text for path, text in texts.items() if not path.startswith(FOLDER)}
    folders = sorted({path.split("/")[1] for path in texts if path.startswith(FOLDER)})
    installed = []
    for folder in folders:
        root = f"{FOLDER}{folder}/"
        held = {path: text for path, text in texts.items() if path.startswith(root)}
        if f"{root}{DBT_FILE}" not in held:
            continue
        try:
            inner, _ = read_settings(f"{root}{DBT_FILE}", held[f"{root}{DBT_FILE}"])
        except RefusedProjectError:
            continue
        installed.append(Package(inner, root, held, is_own=False))
    settings = replace(settings, vars=_variables(settings, installed))
    packages = [Package(settings, "", own), *installed]
    names = {*folders, *(each.name for each in packages)}
    for each in _SHIPPED:
        names |= {each} if is_shipped(each, own.values()) else set()
    return packages, [*_lists(texts, names)]


def _variables(settings: DbtSettings, installed: Sequence[Package]) -> Mapping[str, Plain]:
    """Return the vars of the project, and of packages as it sets them, else as they set them.

    A package whose value is not that of all files has it under its name.
    """
    found = dict(settings.vars)
    asked = {each.name: mapping_of(found.pop(each.name, None)) for each in installed}
    own = frozenset(found)
    apart: dict[str, dict[str, Plain]] = {}
    for each in installed:
        usual = {name: value for name, value in each.settings.vars.items() if name not in own}
        for name, value in {**usual, **asked[each.name]}.items():
            if found.setdefault(name, value) != value:
                apart.setdefault(each.name, {})[name] = value
    return {**found, **apart}


def _lists(texts: Mapping[str, str], installed: set[str]) -> Iterable[FileNotes]:
    """Yield the notes of packages.yml: each package that is not installed needs a hand."""
    for path in _LISTS:
        if path not in texts:
            continue
        log = FileLog()
        root, _ = compose(path, texts[path])
        for entry in map(mapping_of, list_of(mapping_of(plain(root)).get("packages"))):
            kind = next(
                (key for key in ("package", "git", "local", "tarball") if entry.get(key)), ""
            )
            named = text_of(entry.get(kind))
            name = text_of(entry.get("name")) or re.sub(r"(\.git)?/?$", "", named).split("/")[-1]
            plain_name = name.replace("-", "_")  # of a repository; that of the package may be less
            if {name, plain_name, plain_name.removeprefix("dbt_")} & installed:
                log.change(named, "what is used of it is copied, or part of penstock")
            else:
                log.hand(named, _DEPS)
        yield FileNotes(path, "packages", (), log.sorted())


_SHIPPED = ("dbt_utils", "dbt_expectations")


def is_shipped(package: str, texts: Iterable[str]) -> bool:
    """Return whether penstock has every macro of a package that these texts name."""
    shipped = {name for text in shipped_macros().values() for name in macro_names(text)}
    call = re.compile(rf"(?<![\w.]){package}\.(\w+)")
    names = {name for text in texts for name in call.findall(text)}
    return package in _SHIPPED and all({n, f"test_{n}"} & shipped for n in names)


def package_needs(packages: Sequence[Package], files: Mapping[str, bytes]) -> set[str]:
    """Return the packages whose macros the new project calls, also through others.

    A package is not needed if penstock ships every macro that is called.
    """
    texts = [data.decode(errors="replace") for path, data in files.items() if path[-4:] != ".csv"]
    own = packages[0]
    texts += [
        own.texts[path] for key in ("macro-paths", "test-paths") for path, *_ in own.below(key)
    ]
    used: set[str] = set()
    named = (each for each in packages if not each.is_own)
    left = [each for each in named if not is_shipped(each.name, texts)]
    while found := [each for each in left if _is_called(each.name, texts)]:
        used |= {each.name for each in found}
        left = [each for each in left if each not in found]
        texts = [each.texts[path] for each in found for path, *_ in each.below("macro-paths")]
    return used


def _is_called(name: str, texts: Iterable[str]) -> bool:
    call = re.compile(rf"(?<![\w.]){re.escape(name)}\.\w")
    return any(call.search(text) for text in texts)
