"""What `show` and `list` know of the checks of a model."""

import json

FILES = {
    "models/marts/daily.yml": """\
        models:
          - name: daily
            checks:
              - {type: row_count, min: 1, description: rows every day, tags: [crit, ops]}
              - {type: not_null, column: n, severity: warning}
        """
}


def test_show_lists_the_checks(services, call):
    services(**FILES)

    text = call("show", "daily").out

    assert (
        "Checks:\n"
        "  PHASE  NAME        TYPE       SEVERITY  TAGS       DESCRIPTION\n"
        "  after  row_count   row_count  error     crit, ops  rows every day\n"
        "  after  not_null_n  not_null   warning\n"
    ) in text


def test_show_gives_the_checks_as_json(services, call):
    services(**FILES)

    first, second = json.loads(call("show", "daily", "--json").out)["checks"]

    assert first == {
        "version": None,
        "phase": "after",
        "name": "row_count",
        "type": "row_count",
        "severity": "error",
        "description": "rows every day",
        "tags": ["crit", "ops"],
        "meta": {},
        "where": "models/marts/daily.yml:4:9",
    }
    assert second["name"] == "not_null_n"


def test_a_tag_of_a_check_selects_its_model(services, call):
    services(**FILES)

    found = json.loads(call("list", "--select", "tag:crit", "--json").out)["models"]

    assert [each["model"] for each in found] == ["daily"]
