"""The Python entry points: what they take is what the commands take."""

import inspect

import pytest

import penstock
from fakes.reports import a_plan, a_report
from penstock.app import entry
from penstock.app.flags import flag_fields
from penstock.core.errors import InterruptedRunError, UsageError

POINTS = [name for name, found in vars(entry).items() if hasattr(found, "__signature__")]


@pytest.mark.parametrize("name", POINTS)
def test_each_takes_every_flag_of_its_request_with_the_same_default(name):
    point = getattr(entry, name)
    (request,) = inspect.signature(point.__wrapped__, eval_str=False).parameters.values()
    kind = getattr(entry, str(request.annotation))

    taken = inspect.signature(point).parameters
    declared = inspect.signature(kind).parameters

    assert {each.name for each in flag_fields(kind)} <= taken.keys()
    assert {n: p.default for n, p in taken.items()} == {n: p.default for n, p in declared.items()}


def test_the_points_are_the_public_functions():
    of_python = {"conf", "incremental_filter", "incremental_table", "model", "param", "source"}
    of_python |= {"table"}
    public = {name for name in penstock.__all__ if name.islower()} - of_python

    assert sorted([*public, "run_unit_tests"]) == sorted(POINTS)


@pytest.mark.parametrize(
    ("point", "asked", "said"),
    [
        (penstock.run, {"as_of": "noon"}, "'noon' is not a time"),
        (penstock.run, {"threads": 0}, "--threads 0 is not between 1 and 2,147,483,647"),
        (penstock.run, {"date": "2024-12-01", "to": "2024-12-02"}, "--date and --to exclude"),
        (penstock.sync, {"days": 3, "from_": "2024-12-01"}, "--days and --from exclude"),
        (penstock.status, {"days": 0}, "--days 0 is not between 1 and 2,147,483,647"),
        (penstock.snapshot_run, {"keep_last": 3}, "--keep-last needs --prune"),
        (penstock.snapshot_run, {"prune": True, "no_prune": True}, "--no-prune and --prune"),
    ],
)
def test_what_a_command_refuses_is_refused_before_anything_is_opened(point, asked, said):
    with pytest.raises(UsageError, match=said):
        point("/nowhere", **asked)


@pytest.mark.parametrize(
    ("point", "command", "words"),
    [
        (penstock.run, "run.run", {}),
        (penstock.run, "catch_up.catch_up", {"catch_up": True}),
        (penstock.snapshot_run, "run.run", {}),
        (penstock.sync, "sync.sync", {}),
        (penstock.backfill, "sync.sync", {"model": "a", "from_": "2024-01-01", "to": "2024-01-02"}),
    ],
)
def test_an_interrupt_is_raised_with_the_report_of_what_was_done(
    point, command, words, tmp_path, monkeypatch
):
    report = a_report(a_plan(), interrupted=True, resume="penstock run --select b")
    monkeypatch.setattr(f"penstock.app.commands.{command}", lambda *_: report)
    (tmp_path / "penstock.yml").write_text("name: shop\n")

    with pytest.raises(InterruptedRunError) as caught:
        point(tmp_path, **words)

    assert caught.value.report is report
    assert (caught.value.code, caught.value.hint) == ("interrupted", "penstock run --select b")


def test_a_quote_that_masking_took_its_partner_from_breaks_nothing():
    with pytest.raises(UsageError, match="--all and --query exclude each other"):
        penstock.sync(everything=True, select=["a"], arguments="sync --all --query a --vars 'p=***")
