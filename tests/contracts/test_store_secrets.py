"""What every store on a disk keeps of secrets: nothing, in no cell of no table."""

from dataclasses import replace

import pytest
from sqlalchemy import create_engine, select

from contracts.store_cases import HERE, MARK, OURS, failed_gate, intent, run, wrote
from penstock.core.steps.step import StepFailure
from penstock.state.schema import metadata

ON_DISK = pytest.mark.parametrize("place", ["sqlite", "postgresql"], indirect=True)


@ON_DISK
def test_no_cell_of_no_table_holds_a_secret(place, opened, secret):
    words = f"{secret} at x://ann:p4ss@h"
    store = opened()
    store.journal.start_run(replace(run(HERE), arguments=f"--vars word={words}"))
    step = replace(intent(), reason=f"source_changed: {words}")
    contents = {MARK.sql: f"select '{words}'", MARK.canonical: f"select '{words}'"}
    checked = failed_gate("*")
    result = replace(checked.report.after[0], message=words, details=words)
    report = replace(checked.report, after=(result,))
    store.journal.begin(step, contents, HERE, None)
    store.journal.record_checks(step.step, replace(checked, report=report))
    store.journal.finish(step.step, wrote(4))
    other = replace(intent("step-2", "users"), reason=words)
    store.journal.begin(other, {}, HERE, None)
    store.journal.fail("step-2", StepFailure("x", words, "a.sql:1", words))
    exported = str(store.archive.export())

    engine = create_engine(place("state", OURS))
    with engine.connect() as connection:
        cells = [
            str(cell)
            for table in metadata.sorted_tables
            for row in connection.execute(select(table))
            for cell in row
        ]

    engine.dispose()
    assert [cell for cell in [*cells, exported] if secret in cell or "p4ss" in cell] == []
    assert sum("***" in cell for cell in cells) >= 8
