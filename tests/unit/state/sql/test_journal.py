"""What the journal keeps of the code that a step ran."""

from dataclasses import replace

from contracts.store_cases import HERE, LEASE, MARK, OURS, intent, run
from fakes.clock import FixedClock
from penstock.state.open import open_store


def test_code_is_kept_without_secrets_under_the_checksum_of_the_true_text(tmp_path, secret):
    url = f"sqlite:///{tmp_path}/state.db"
    store = open_store(url, identity=OURS, clock=FixedClock(), lease=LEASE)
    store.journal.start_run(run())
    schema = '{"password": "STRING"}'
    contents = {
        "sql-1": f"select '{secret}' as a, 'token=abc' as b",
        "canonical-1": f"select '{secret}' from x://u:p@h",
        "schema-1": schema,
    }
    step = replace(intent(), fingerprint=replace(MARK, schema="schema-1"))

    store.journal.begin(step, contents, HERE, None)

    kept = dict(store.records.texts(contents))
    store.close()
    assert kept == {
        "sql-1": "select '***' as a, 'token=***' as b",
        "schema-1": schema,
    }
