"""`validate`: findings of unit tests beside errors of other files."""

import pytest

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
