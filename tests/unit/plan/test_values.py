"""What a plan allows, and how much of a table a step is about, if nothing says otherwise."""

from dataclasses import fields

from penstock.plan.values import Options
from penstock.plan.work import TableWork


def test_a_command_without_options_allows_nothing():
    assert {each.name: getattr(Options(), each.name) for each in fields(Options)} == {
        "full_refresh": False,
        "adopt": False,
        "prune": False,
        "no_prune": False,
        "retention": None,
        "allow_empty": False,
        "allow_breaking": False,
        "allow_source_mutation": False,
        "skip_checks": False,
        "on_failure": None,
        "rerun": None,
        "allow_schema_change": False,
        "slice": "",
        "strategy": None,
        "processing_time": None,
        "allow_backdated": False,
        "strict": False,
    }


def test_a_whole_table_is_one_partition_of_one_version():
    whole = TableWork()

    assert (whole.partitions, whole.version, whole.revision) == (((0, 0),), 1, 0)
    assert (whole.is_range, whole.has_parts, whole.pass_key) == (False, False, None)
