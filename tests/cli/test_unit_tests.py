"""`penstock test` where no Spark starts: findings, selectors, nothing to do."""

import json

import pytest

TESTS = """\
    unit_tests:
      - name: one
        model: users_clean
        tags: [quick]
        given: {inputs: {raw.users: {rows: [{id: 1, email: a}]}}}
        expect: {rows: [{id: 1, email: a}]}
    """


@pytest.fixture
def project(services, monkeypatch):
    """A machine without Java, so whoever asks for Spark gets 2."""

    def written(**changes):
        root = services(**changes)
        monkeypatch.delenv("JAVA_HOME", raising=False)
        monkeypatch.setenv("PATH", "/nowhere")
        return root

    return written


def test_a_project_without_tests_says_so_and_starts_nothing(project, call):
    root = project(**{"tests/other.yml": "a: 1\n"})

    assert (call("test").code, call("test").out) == (0, "no unit tests\n")
    assert not (root / "warehouse").exists()


def test_findings_of_test_files_are_told_before_java_is_asked_for(project, call):
    project(**{"tests/t.yml": TESTS.replace("raw.users", "raw.user")})

    answer = call("test")
    document = json.loads(call("test", "--json").out)

    assert answer.code == 1
    assert answer.err == (
        "tests/t.yml:2:5: error: missing-input: 'one' does not give raw.users, which users_clean "
        "reads\n  hint: add them under given.inputs: raw.users\n"
        "tests/t.yml:5:22: error: unknown-input: users_clean does not read 'raw.user'\n"
        "  hint: did you mean 'raw.users'?\n"
        "2 errors, 0 warnings\n"
    )
    assert [finding["code"] for finding in document["findings"]] == [
        "missing-input",
        "unknown-input",
    ]


def test_a_selector_without_a_match_is_exit_2_with_the_nearest_name(project, call):
    project(**{"tests/t.yml": TESTS})

    answer = call("test", "--test", "on")
    assert (answer.code, answer.err) == (
        2,
        "error: nothing-selected: no unit test is called 'on'\n  hint: did you mean 'one'?\n",
    )
    assert call("test", "--select", "daily").code == 2
    assert call("test", "--select", "tag:qick").code == 2


def test_a_selector_without_a_match_is_exit_2_where_there_are_no_tests(project, call):
    project()

    assert call("test", "--select", "users_clean").code == 2
    assert call("test", "--test", "one").code == 2
    assert call("test", "--exclude", "users_clean").code == 0


def test_tests_need_java_and_say_so(project, call):
    project(**{"tests/t.yml": TESTS})

    assert call("test").code == 2
