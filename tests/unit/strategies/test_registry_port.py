"""What the port promises of every strategy, and of one that somebody adds."""

import pytest

from fakes.builders import a_model
from fakes.latest import Latest
from penstock.core.strategy import Layout, Writing, register, strategies, strategy_named
from penstock.project.sql.bodies import settings_text
from penstock.strategies.append import Append
from penstock.strategies.table import Table
from unit.strategies.builds import a_build


@pytest.fixture
def latest(monkeypatch):
    """Let `latest` be known while a test lasts."""
    monkeypatch.setitem(strategies(), "latest", Latest)
    return Latest("at", 2)


def test_strategies_are_known_by_their_words_in_one_order():
    words = ["view", "table", "append", "merge", "partition", "snapshot", "frame", "overwrite"]
    words.append("sessions")
    words += ["entity_full", "entity_merge", "entity_historic"]

    assert [*strategies()] == words


def test_a_word_has_one_strategy():
    class Another(Table):
        """Says it is a table."""

    with pytest.raises(ValueError, match="'table' is Table already"):
        register(Another)
    assert register(Table) is Table


def test_of_a_word_that_is_gone_nothing_is_known_and_nothing_is_done_twice():
    gone = strategy_named("gone")

    assert (gone.is_view, gone.rerun_is_safe, gone.command) == (False, False, "run")


@pytest.mark.parametrize("strategy", strategies().values(), ids=str)
def test_what_may_be_done_once_more_adds_nothing_again(strategy):
    assert not (strategy.rerun_is_safe and strategy.adds_again)


def test_counts_of_a_history_are_those_of_its_token_or_of_a_guarded_first_run():
    counts = strategy_named("snapshot").counts

    assert counts({"numOutputRows": 3})["opened_new"] == 3
    assert counts({"source_rows": 5, "numOutputRows": 3}) == {}
    assert strategy_named("table").counts({"numOutputRows": 3}) == {}


def test_partitions_that_the_result_lacks_stay():
    staying = Table(overwrite_partitions=True).staying(Layout(("day", "land")), "rows", "target")

    assert staying == (
        "NOT EXISTS (SELECT 1 FROM `rows` r "
        "WHERE r.`day` <=> `target`.`day` AND r.`land` <=> `target`.`land`)"
    )
    assert Append(None).staying(Layout(("day",)), "rows", "target") == ""


def test_a_strategy_of_its_own_answers_like_any_other(latest):
    model = a_model("users", strategy=latest)

    assert (model.strategy_name, model.writing, model.is_view) == ("latest", Writing.WHOLE, False)
    assert (model.partition, model.history, model.strategy.window) == (None, None, None)
    assert settings_text(latest, Layout()) == '{"by":"at","count":2,"strategy":"latest"}'


def test_a_strategy_of_its_own_makes_its_statements(latest):
    work = latest.work(a_build(latest, query="id int, at date"))

    assert [stage.sql for stage in work.stages] == [
        "SELECT `id`, `at` FROM `penstock_query` ORDER BY `at` DESC LIMIT 2"
    ]
    assert work.decide({"kept": 2}).sql.endswith("AS SELECT `id`, `at` FROM `penstock_latest`")


AT = "models/m/top.sql:1:"
WORDS = "view, table, append, merge, incremental, partition, snapshot"
HEADER = "{{ config(materialized='latest', newest_by='at', keep=2) }}\nselect 1 as id, 2 as at"


def test_its_settings_are_read_from_a_project_and_count_in_its_fingerprint(latest, load_project):
    first = load_project({"models/m/top.sql": HEADER}).models["top"]
    other = load_project({"models/m/top.sql": HEADER.replace("keep=2", "keep=3")}).models["top"]

    assert first.strategy == latest
    assert first.fingerprint.settings != other.fingerprint.settings
    assert first.fingerprint.sql == other.fingerprint.sql


def test_its_settings_are_no_settings_of_others(latest, findings_of):
    assert findings_of({"models/m/top.sql": HEADER.replace("latest", "table")}) == [
        f"{AT} warning: option-without-effect: keep has no effect on strategy table",
        f"{AT} warning: option-without-effect: newest_by has no effect on strategy table",
    ]
    assert findings_of({"models/m/top.sql": HEADER.replace("keep=2", "keep='all'")}) == [
        f"{AT} error: bad-value: keep is 'all'; it must be an integer >= 0"
    ]


def test_without_it_neither_word_nor_settings_are_known(findings_of):
    assert findings_of({"models/m/top.sql": HEADER}) == [
        f"{AT} error: bad-value: materialized is 'latest'; it must be one of {WORDS}",
        f"{AT} error: unknown-key: unknown key 'keep'",
        f"{AT} error: unknown-key: unknown key 'newest_by'",
    ]
