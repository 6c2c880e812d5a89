"""A folder of a site is replaced as a whole, and only if it is one."""

import json
from dataclasses import dataclass, replace

import pytest

from fakes.site_page import document_of
from penstock.app.site import files
from penstock.app.site.files import chunk_text, require_bundle, require_ours, write_site
from penstock.core.errors import EnvironmentMissingError, UsageError

PAGE = '<!doctype html><meta name="penstock-data" content="data">'
ODD = "</script><img onerror=x> \u2028 'ü' \"\\"


@dataclass(frozen=True)
class Odd:
    name: str
    lines: tuple[str, ...] = ()
    nothing: None = None


@dataclass(frozen=True)
class Rows:
    rows: tuple[Odd, ...]
    one: tuple[Odd, ...]


@pytest.fixture(autouse=True)
def bundle(tmp_path, monkeypatch):
    folder = tmp_path / "bundle"
    folder.mkdir()
    (folder / "index.html").write_text(PAGE)
    (folder / "site.js").write_text("1")
    monkeypatch.setattr(files, "BUNDLE", folder)
    return folder


def test_texts_of_users_are_data_of_one_call():
    text = chunk_text("model-1", Odd(ODD, ("a", ODD)))

    assert text.startswith('penstockData("model-1",')
    document = json.loads(text.removeprefix('penstockData("model-1",').removesuffix(");"))
    assert document == {"name": ODD, "lines": ["a", ODD], "nothing": None}


def test_a_secret_is_hidden_in_its_text_and_nothing_around_it():
    row = Odd("password: hunter2", ("password: <i class=s>'***'</i>",))

    text = chunk_text("rows", Rows((row, replace(row, name='token = "hunter3" x')), (row,)))

    html = ["password: <i class=s>'***'</i>"]
    masked = {"name": "password: ***", "lines": html, "nothing": None}
    assert document_of(text) == {
        "rows": [masked, masked | {"name": 'token = "***" x'}],
        "one": [masked],
    }


def test_many_documents_are_written_as_one_value_a_field():
    rows = (Odd("a", ("x",)), Odd("b", ("x",)), Odd("b", ("x",)), Odd("b", ("x",)))

    text = chunk_text("rows", Rows(rows, rows[:1]))

    assert text == (
        'penstockData("rows",{"rows":{"#":4,"name":{"of":["a","b"],"at":[0,1,1,1]},'
        '"lines":{"of":[["x"]]},"nothing":{"of":[null]}},'
        '"one":[{"name":"a","lines":["x"],"nothing":null}]});'
    )
    one = {"name": "b", "lines": ["x"], "nothing": None}
    assert document_of(text) == {
        "rows": [one | {"name": "a"}, one, one, one],
        "one": [one | {"name": "a"}],
    }


def test_a_new_site_takes_the_place_of_the_old_one(tmp_path):
    output = tmp_path / "site"
    for generation in ("1", "2"):
        chunks = [("project", Odd(generation)), ("search", Odd(generation))]
        write_site(output, generation, chunks)

    assert 'content="data-2?2"' in (output / "index.html").read_text()
    assert sorted(path.name for path in output.iterdir()) == [
        ".penstock-site",
        "data-2",
        "index.html",
        "site.js",
    ]
    assert "2" in (output / "data-2" / "project.js").read_text()


def test_files_stay_if_only_the_project_changed(tmp_path):
    output = tmp_path / "site"
    write_site(output, "1", [("project", Odd("1")), ("search", Odd("all"))])
    written = (output / "data-1" / "search.js").stat().st_ino

    size = write_site(output, "2", [("project", Odd("2")), ("search", Odd("all"))])

    assert 'content="data-1?2"' in (output / "index.html").read_text()
    assert [path.name for path in output.glob("data-*")] == ["data-1"]
    assert '"2"' in (output / "data-1" / "project.js").read_text()
    assert (output / "data-1" / "search.js").stat().st_ino == written
    assert size == sum(path.stat().st_size for path in (output / "data-1").iterdir())


def test_files_that_somebody_changed_are_written_again(tmp_path):
    output, chunks = tmp_path / "site", [("project", Odd("1")), ("search", Odd("all"))]
    write_site(output, "1", chunks)
    (output / "data-1" / "search.js").write_text("mine")

    write_site(output, "2", chunks)

    assert [path.name for path in output.glob("data-*")] == ["data-2"]
    assert "all" in (output / "data-2" / "search.js").read_text()


def test_a_site_that_was_not_finished_leaves_the_old_one_whole(tmp_path):
    output = tmp_path / "site"
    write_site(output, "1", [("project", Odd("1"))])

    def chunks():
        yield "project", Odd("2")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_site(output, "2", chunks())

    assert 'content="data-1?1"' in (output / "index.html").read_text()
    assert (output / "data-1" / "project.js").exists()
    write_site(output, "3", [])
    assert [path.name for path in output.glob("data-*")] == ["data-3"]


@pytest.mark.parametrize("content", ["folder", "file", "site of others"])
def test_a_folder_of_others_is_not_touched(tmp_path, content):
    output = tmp_path / "site"
    if content == "file":
        output.write_text("mine")
    else:
        output.mkdir()
        (output / ("index.html" if content == "site of others" else "mine.txt")).write_text("mine")

    with pytest.raises(UsageError) as caught:
        require_ours(output)

    assert caught.value.code == "site-not-ours"


def test_an_empty_folder_and_one_that_is_not_there_are_taken(tmp_path):
    (tmp_path / "empty").mkdir()
    require_ours(tmp_path / "empty")
    require_ours(tmp_path / "nowhere")


def test_without_the_front_end_a_command_says_what_builds_it(bundle):
    require_bundle()
    (bundle / "index.html").unlink()

    with pytest.raises(EnvironmentMissingError) as caught:
        require_bundle()

    assert caught.value.code == "site-not-built"
