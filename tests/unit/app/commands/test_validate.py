"""`validate`: unit tests beside errors of other files, and what a look at files adds."""

import pytest

from fakes.entity_files import entity, files
from penstock.app.commands import validate as use_case
from penstock.app.commands.validate import validate
from penstock.app.services.wire import Where

TEST = """\
unit_tests:
  - name: one
    model: {model}
    given: {{}}
    expect: {{rows: [{{id: 1}}]}}
"""


@pytest.fixture
def broken(tmp_path):
    """A project with a model whose file cannot be read as a template."""
    (tmp_path / "penstock.yml").write_text("name: shop\n")
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "lost.sql").write_text("select id from {{ somewhere")
    (tmp_path / "models" / "below.sql").write_text("select id from {{ ref('lost') }}")
    (tmp_path / "tests").mkdir()
    return tmp_path


@pytest.mark.parametrize(
    ("model", "codes"),
    [
        ("lost", ["template-syntax"]),  # it follows from the error
        ("below", ["template-syntax"]),  # what the model reads is lost
        ("some", ["template-syntax", "unknown-model"]),  # a part of a word is no name
    ],
)
def test_of_unit_tests_only_what_follows_from_an_error_is_left_out(broken, model, codes):
    (broken / "tests" / "t.yml").write_text(TEST.format(model=model))

    report = validate(Where(broken))

    assert [each.code for each in report.findings] == codes


def test_a_file_whose_place_cannot_be_asked_for_has_no_text(tmp_path):
    too_long = tmp_path / ("x" * 300)

    assert use_case._text(too_long) == ""


@pytest.fixture
def delivered(tmp_path):
    """A project with one entity, and a file in its bronze folder that is no Parquet."""
    (tmp_path / "penstock.yml").write_text("name: shop\n")
    for path, text in files(entity(), environment={"root_folder": str(tmp_path)}).items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    (tmp_path / "bronze" / "aw" / "x").mkdir(parents=True)
    (tmp_path / "bronze" / "aw" / "x" / "day.csv").write_text("ID\n1\n")
    return tmp_path


def test_files_that_no_run_reads_are_warned_of_where_they_are_asked_for(delivered):
    asked = validate(Where(delivered), connected=True)

    assert validate(Where(delivered)).findings == ()
    assert [(each.code, each.sentence) for each in asked.findings] == [
        (
            "bronze-fits-nothing",
            f"1 file in {delivered}/bronze/aw/x, none fits *.parquet (did you mean *.csv?)",
        )
    ]
    assert (asked.passed, asked.warnings) == (True, 1)
    assert not validate(Where(delivered), connected=True, strict=True).passed


def test_a_bronze_folder_that_is_a_table_is_an_error_where_it_is_looked_at(delivered):
    log = delivered / "bronze" / "aw" / "x" / "_delta_log"
    log.mkdir()
    (log / "00000000000000000000.json").write_text("{}\n")

    found = validate(Where(delivered), connected=True)

    assert [each.code for each in found.findings] == ["bronze-is-delta"]
    assert not found.passed
