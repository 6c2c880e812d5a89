"""Which unit tests a command is about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

from penstock.app.request import UnitTestRequest
from penstock.core.errors import SelectorError
from penstock.core.project import Project
from penstock.core.unit_tests import UnitTest
from penstock.project.nearest import did_you_mean, some_of
from penstock.project.select import Known, select

_ALL_TAGS = "tags of all unit tests"


def chosen(
    project: Project, tests: Sequence[UnitTest], request: UnitTestRequest
) -> tuple[UnitTest, ...]:
    """Give the tests of the selected models, or with the tags that are selected, by these names.

    Raises `SelectorError` for a selector, or a name, that matches nothing.
    """
    found = [test for test in tests if not request.tests or _is_named(test, request.tests)]
    for name in request.tests:
        if not any(_is_named(test, (name,)) for test in tests):
            known = [test.name for test in tests]
            hint = did_you_mean(name, known) or f"there are: {some_of(known) or 'none'}"
            raise SelectorError("nothing-selected", f"no unit test is called {name!r}", hint=hint)
    if not request.select and not (request.exclude and tests):
        return tuple(found)
    return _selected(project, found, request)


def _selected(
    project: Project, tests: Sequence[UnitTest], request: UnitTestRequest
) -> tuple[UnitTest, ...]:
    """Ask for each model with the tags of its tests: selectors know models.

    A model that is none has the tags of all tests, so that a tag of another test is no mistake.
    """
    refusal: SelectorError | None = None
    answers: dict[tuple[str, tuple[str, ...]], bool] = {}
    every = tuple(dict.fromkeys(tag for test in tests for tag in test.tags))
    for name, tags in dict.fromkeys((test.model, test.tags) for test in tests):
        model = project.models[name]
        tagged = replace(model, tags=(*model.tags, *tags))
        tagging = replace(model, name=_ALL_TAGS, tags=every, depends_on=())
        models = {**project.models, name: tagged, _ALL_TAGS: tagging}
        known = replace(project, models=models)
        try:
            names = select(known, request.select, request.exclude, Known())
        except SelectorError as error:
            refusal = error
            continue
        answers[name, tags] = name in names
    found = tuple(test for test in tests if answers.get((test.model, test.tags)))
    if found:
        return found
    if refusal is not None and not answers:
        raise refusal
    asked = " ".join((*request.select, *(f"--exclude {each}" for each in request.exclude)))
    raise SelectorError(
        "nothing-selected",
        f"{asked!r} selects no unit test",
        hint=f"tests are of: {some_of({test.model for test in tests}) or 'no model'}",
    )


def _is_named(test: UnitTest, names: Sequence[str]) -> bool:
    return any(test.name == name or fnmatchcase(test.name, name) for name in names)
