"""The laws of histories hold in the oracle itself, for every combination of settings."""

import datetime as dt
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakes.histories import (
    CK,
    COLUMNS,
    COMBINATIONS,
    EV,
    FIRST_RUN,
    INVALIDATE,
    NOONS,
    VALUES,
    pack,
    packs,
    schedules,
    sequences,
)
from fakes.oracle import run
from fakes.oracle_laws import as_of, identities, violations
from fakes.oracle_types import Source

few = settings(max_examples=max(settings.default.max_examples // 5, 2))
every_combination = pytest.mark.parametrize("combination", COMBINATIONS.values(), ids=COMBINATIONS)
with_retention = pytest.mark.parametrize(
    "combination", [pytest.param(s, id=name) for name, s in COMBINATIONS.items() if s.retention]
)


def histories(combination, runs):
    """Give the table before and the outcome of each run."""
    history = None
    for each in runs:
        outcome = run(history, each.source, combination, each.at)
        yield each, history, outcome
        history = outcome.history


def rows(history):
    """Give what the versions say, whether or not a column is there for its NULLs."""
    return [
        (v.key, v.valid_from, v.valid_to, bool(v.is_deleted), without_nulls(v.values))
        for v in history.versions
    ]


def without_nulls(values):
    return {column: each for column, each in values.items() if each is not None}


@every_combination
@given(data=st.data())
def test_laws_and_identities_hold_after_every_run(combination, data):
    runs = pack([data.draw(sequences(combination))])
    times = [each.at for each in runs]

    for _, before, outcome in histories(combination, runs):
        after = outcome.history

        assert identities(outcome.metrics, combination, before, after) == []
        assert violations(after, combination, times) == []


@every_combination
@few
@given(data=st.data())
def test_a_run_again_commits_nothing(combination, data):
    for each, _, outcome in histories(combination, pack([data.draw(sequences(combination))])):
        assert not run(outcome.history, each.source, combination, each.at).is_commit


@with_retention
@given(data=st.data())
def test_retention_in_the_update_is_an_update_and_then_a_prune(combination, data):
    keeping = replace(combination, retention=None)

    for each, before, outcome in histories(combination, pack([data.draw(sequences(combination))])):
        updated = run(before, each.source, keeping, each.at)
        pruned = run(updated.history, each.source, combination, each.at)

        assert rows(pruned.history) == rows(outcome.history)
        assert pruned.metrics.pruned == outcome.metrics.pruned + outcome.metrics.skipped


ROWS = st.dictionaries(
    st.tuples(st.integers(0, 3), st.sampled_from(NOONS)), st.sampled_from(VALUES), min_size=1
)


@given(ROWS, st.data())
def test_event_time_does_not_see_batches_or_their_order(seen, data):
    every = [{"seq": 0, "id": i, "value": value, "updated_at": u} for (i, u), value in seen.items()]
    shuffled = data.draw(st.permutations(every))
    cuts = sorted(data.draw(st.sets(st.integers(0, len(every)))) | {0, len(every)})

    at_once = run(None, Source(COLUMNS, tuple(every)), EV, FIRST_RUN).history
    history = None
    for number, (start, end) in enumerate(pairwise(cuts)):
        at = FIRST_RUN + dt.timedelta(days=number)
        history = run(history, Source(COLUMNS, tuple(shuffled[start:end])), EV, at).history

    assert history.versions == at_once.versions


@given(sequences(COMBINATIONS["check_all_invalidate"]))
def test_as_of_a_run_gives_back_its_source(sequence):
    combination = COMBINATIONS["check_all_invalidate"]
    runs = pack([sequence])
    *_, (_, _, last) = histories(combination, runs)

    for each in runs:
        valid = [
            {c: v.values.get(c) for c in each.source.columns} for v in as_of(last.history, each.at)
        ]

        assert sorted(valid, key=str) == sorted(map(dict, each.source.rows), key=str)


@every_combination
@few
@given(data=st.data())
def test_at_any_instant_a_key_has_one_version_at_most(combination, data):
    runs = pack([data.draw(sequences(combination))])
    t = data.draw(st.sampled_from([*NOONS, *(each.at for each in runs)]))
    *_, (_, _, last) = histories(combination, runs)

    keys = [version.key for version in as_of(last.history, t, include_deleted=True)]

    assert len(keys) == len(set(keys))


@given(sequences(COMBINATIONS["row_hash_invalidate"]))
def test_a_row_hash_changes_no_history(sequence):
    runs = pack([sequence])
    by_column = replace(CK, hard_deletes=INVALIDATE)

    hashed = [outcome for *_, outcome in histories(COMBINATIONS["row_hash_invalidate"], runs)]

    assert hashed == [outcome for *_, outcome in histories(by_column, runs)]


@every_combination
@few
@given(data=st.data())
def test_a_pack_is_its_sequences_side_by_side(combination, data):
    schedule = data.draw(schedules())
    each = data.draw(st.lists(sequences(combination, schedule), min_size=2, max_size=4))

    *_, (_, _, packed) = histories(combination, pack(each))
    apart = []
    for seq, sequence in enumerate(each):
        *_, (_, _, last) = histories(combination, pack([sequence]))
        numbered = [
            replace(v, key=(seq, *v.key[1:]), values={**v.values, "seq": seq})
            for v in last.history.versions
        ]
        apart.extend(rows(replace(last.history, versions=tuple(numbered))))

    assert rows(packed.history) == apart


@every_combination
@settings(max_examples=2)
@given(data=st.data())
def test_no_run_of_a_drawn_pack_is_refused(combination, data):
    runs = data.draw(packs(combination, size=20))

    assert len(list(histories(combination, runs))) == len(runs)
