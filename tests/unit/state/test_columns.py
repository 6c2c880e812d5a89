"""What columns of the state do to texts: compressed, without secrets."""

import json
import zlib

from penstock.state.columns import MaskedText, PackedText, Value

ROWS = Value(object, as_json=True, is_masked=True)


def test_a_text_for_people_is_stored_without_secrets(secret):
    stored = MaskedText().process_bind_param(f"{secret} at x://u:p@h, password=abc", None)

    assert stored == "*** at x://***@h, password=***"
    assert MaskedText().process_bind_param(None, None) is None


def test_a_document_is_stored_without_secret_values_and_stays_one(secret):
    rows = {"rows": [[f'a "{secret}"', 1, None, "password=abc"]], secret: True}

    stored = ROWS.process_bind_param(rows, None)

    assert json.loads(stored) == {"rows": [['a "***"', 1, None, "password=abc"]], "***": True}
    assert ROWS.process_bind_param({"a": 1}, None) == '{"a":1}'
    assert ROWS.process_bind_param(None, None) is None


def test_a_packed_text_is_stored_without_secret_values(secret):
    stored = PackedText().process_bind_param(f"select '{secret}'", None)

    assert zlib.decompress(stored) == b"select '***'"
