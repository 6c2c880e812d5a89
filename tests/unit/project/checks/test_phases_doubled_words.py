"""`on_failure` in two places, and sentences that use the word which the file uses."""

from __future__ import annotations

import pytest

from fakes.check_projects import versions

HEADER = "{{{{ config(materialized='table'{more}) }}}} select 1 as a"


def a_table(yaml, more=""):
    files = {"models/m.sql": HEADER.format(more=more)}
    return files | {"models/m.yml": f"models:\n  - name: m\n{yaml}"}


@pytest.mark.parametrize(
    ("files", "finding"),
    [
        (
            a_table("    checks: {on_failure: block}\n", ", on_failure='flag'"),
            (
                "models/m.yml:3:26: error: option-conflict: on_failure is there twice; "
                "the first is at models/m.sql:1\n  hint: keep one of them"
            ),
        ),
        (
            a_table("    config: {on_failure: flag, checks: {on_failure: block}}\n"),
            (
                "models/m.yml:3:26: error: option-conflict: on_failure is there twice; "
                "the first is at models/m.yml:3:53\n  hint: keep one of them"
            ),
        ),
        (
            a_table("    config: {on_failure: flag}\n    checks: {on_failure: block}\n"),
            (
                "models/m.yml:4:26: error: option-conflict: on_failure is there twice; "
                "the first is at models/m.yml:3:26\n  hint: keep one of them"
            ),
        ),
    ],
)
def test_on_failure_in_two_places_is_told_with_both(findings, files, finding):
    assert findings(files, hints=True) == [finding]


def test_a_version_may_say_another_mode_than_what_holds_for_all(load):
    files = versions("    checks: {on_failure: block}\n", beside="checks: {on_failure: rollback}\n")

    assert load(files).models["user_stats"].checks.on_failure == "block"


@pytest.mark.parametrize("word", ["checks", "invariants"])
@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ("{before: 5}", "{word}.before is 5; it must be a list of checks"),
        ("[5]", "{word} holds something that is not a check"),
        ("{after: [5]}", "{word}.after holds something that is not a check"),
        (
            "{base: {after: []}, add: {after: [5]}}",
            "{word}.add.after holds something that is not a check",
        ),
        (
            "{base: {after: []}, remove: {after: [5]}}",
            "{word}.remove needs the name of a check",
        ),
    ],
)
def test_sentences_use_the_word_that_the_version_uses(findings, word, said, sentence):
    (found,) = findings(versions(f"    {word}: {said}\n"))

    assert found.partition("bad-value: ")[2] == sentence.format(word=word)


@pytest.mark.parametrize("word", ["checks", "invariants"])
@pytest.mark.parametrize("place", ["beside", "model"])
def test_sentences_use_the_word_that_stands_beside_versions_or_in_a_model(findings, word, place):
    text = f"{word}: [5]\n"
    files = versions("", beside=text) if place == "beside" else a_table(f"    {text}")

    (found,) = findings(files)

    assert found.partition("bad-value: ")[2] == f"{word} holds something that is not a check"


@pytest.mark.parametrize(
    ("written", "shown"),
    [("stop", "'stop'"), ("[block]", "a list"), ("{a: b}", "a mapping"), ("5", "5")],
)
def test_a_mode_that_is_none_is_shown_as_it_is_written(findings, written, shown):
    (found,) = findings(a_table(f"    checks: {{on_failure: {written}}}\n"))

    sentence = f"on_failure is {shown}; it must be one of flag, block, rollback"
    assert found == f"models/m.yml:3:26: error: bad-value: {sentence}"


def test_a_mode_in_a_header_is_no_list(findings):
    assert findings(a_table("", ", on_failure=['block']")) == [
        (
            "models/m.sql:1: error: bad-value: "
            "on_failure is a list; it must be one of flag, block, rollback"
        )
    ]
