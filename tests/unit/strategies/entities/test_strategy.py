"""What may be asked of an entity's strategy before any slice is counted."""

from dataclasses import replace

import pytest

from fakes.silver_table import XF, XH, XM, an_entity
from penstock.core.entities.entity import ProcessType, RunText, WholeTable
from penstock.core.history import HardDeletes
from penstock.core.strategy import Layout, Writing
from penstock.strategies.entities.strategy import (
    FullEntity,
    HistoricEntity,
    MergeEntity,
    strategy_of_entity,
)
from penstock.strategies.entities.target import property_of
from unit.strategies.builds import Given, a_build

FULL, MERGE, HISTORIC = ProcessType


@pytest.mark.parametrize(
    ("entity", "forced", "kind"),
    [
        (XF, None, FullEntity),
        (XM, None, MergeEntity),
        (XM, FULL, FullEntity),
        (XF, MERGE, MergeEntity),
        (XH, None, HistoricEntity),
        (XH, FULL, HistoricEntity),
    ],
)
def test_somebody_may_ask_for_another_strategy_but_versions_stay(entity, forced, kind):
    assert strategy_of_entity(entity, forced) == kind(entity)


@pytest.mark.parametrize("entity", [XF, XM, XH])
def test_an_entity_says_what_its_table_says_and_how_its_rows_are_told_apart(entity):
    strategy = strategy_of_entity(entity)

    assert strategy.keys == ("ID",)
    assert strategy.fingerprint(Layout()) == {"entity": property_of(entity)}
    assert strategy.counts({"recordsInSlice": 3, "numOutputRows": 3})["inserted"] == 3
    assert strategy.hides_rows is (entity is not XF)
    assert (strategy.is_written, strategy.keeps_rows, strategy.writing) == (
        *(False, True, Writing.MERGED),
    )
    assert (strategy.is_incremental, strategy.rerun_is_safe, strategy.moves_forward) == (
        *(True, True, True),
    )


def test_a_strategy_reads_slices_unless_its_source_is_whole():
    whole = replace(XM, bronze=WholeTable(RunText("raw.x")))

    assert [strategy_of_entity(each).reads_slices for each in (XM, whole)] == [True, False]


def test_only_a_history_whose_deletes_are_inferred_closes_versions():
    inferring = an_entity(HISTORIC, delete_missing=True)
    found = [strategy_of_entity(each).history for each in (XF, XM, XH, inferring)]

    assert [each and each.hard_deletes for each in found] == [
        *(None, None, HardDeletes.IGNORE, HardDeletes.INVALIDATE)
    ]


def test_what_needs_a_slice_or_a_document_is_refused():
    with pytest.raises(TypeError, match="MergeEntity is read from documents"):
        MergeEntity.read(Given())
    with pytest.raises(TypeError, match="users is built from slices"):
        MergeEntity(XM).work(a_build())
