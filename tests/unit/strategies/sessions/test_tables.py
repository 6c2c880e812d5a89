"""The tables of a session package as strategies, and its manifest as SQL."""

import datetime as dt

import pytest

from fakes.session_world import at, options, package
from penstock.core.sessions.manifest import ManifestRow
from penstock.core.sessions.options import SessionTable
from penstock.core.sessions.package import SessionTableKind
from penstock.core.strategy import Layout, Writing
from penstock.strategies.sessions.tables import (
    LimitsView,
    Sessions,
    kept_columns,
    manifest_export,
    no_rows,
)
from unit.strategies.builds import a_build

SHOP = package()
PLACE = "LOCATION '/w/m' "
CASTS = (
    "CAST(model AS string) AS model, CAST(last_success AS timestamp) AS last_success, "
    "CAST(covered_to AS timestamp) AS covered_to, CAST(advanced_to AS timestamp) AS advanced_to, "
    "CAST(fingerprint AS string) AS fingerprint, CAST(run_id AS string) AS run_id, "
    "CAST(updated_at AS timestamp) AS updated_at"
)


class OfPackage:
    """The settings of a table of the package."""

    def __init__(self, model):
        self.model = model

    def session(self):
        return SHOP, self.model


@pytest.mark.parametrize("model", SHOP.models, ids=lambda each: str(each.part))
def test_a_table_of_a_package_is_what_the_package_says(model):
    found = Sessions.read(OfPackage(model))
    is_view, is_scratch = (
        model.kind is kind for kind in (SessionTableKind.VIEW, SessionTableKind.SCRATCH)
    )

    assert found == (LimitsView if is_view else Sessions)(SHOP, model)
    assert (found.is_view, found.is_incremental, found.keeps_rows) == (
        *(is_view, not is_view, not is_view),
    )
    assert (found.is_written, found.rerun_is_safe, found.by_passes) == (False, True, True)
    assert found.writing is (Writing.WHOLE if is_scratch else Writing.MERGED)
    assert found.keys == model.key
    assert found.fingerprint(Layout()) == {"package": SHOP.fingerprint, "table": str(model.part)}
    with pytest.raises(TypeError, match=f"users is made by a pass of {SHOP.name}"):
        found.work(a_build())


def test_a_manifest_takes_the_place_of_the_rows_of_a_table():
    row = ManifestRow("it's", covered_to=at("01-02"), run="r")
    made = "CREATE OR REPLACE TABLE t USING delta {}TBLPROPERTIES ('penstock.manifestOf' = 'p')"

    assert manifest_export("t", "p", [row], "/w/m") == (
        f"{made.format(PLACE)} AS SELECT {CASTS} FROM VALUES ('it\\'s', NULL, "
        "TIMESTAMP '2021-01-02T00:00:00.000000Z', NULL, '', 'r', NULL) AS t(model, last_success, "
        "covered_to, advanced_to, fingerprint, run_id, updated_at)"
    )
    assert manifest_export("t", "p", [], "") == (
        f"{made.format('')} AS SELECT {CASTS} FROM (SELECT NULL AS model, NULL AS last_success, "
        "NULL AS covered_to, NULL AS advanced_to, NULL AS fingerprint, NULL AS run_id, "
        "NULL AS updated_at) WHERE false"
    )


@pytest.mark.parametrize(
    "part", [SessionTable.LIFECYCLE, SessionTable.QUARANTINE, SessionTable.USER_MAPPING]
)
def test_a_table_that_is_not_there_is_read_as_one_without_rows(part):
    assert no_rows(part, options()).startswith("SELECT CAST(NULL AS string) AS ")
    assert no_rows(part, options()).endswith(" WHERE false")


def test_sessions_that_are_found_have_the_ids_of_those_that_were_joined_to_them():
    by_timeout = options(session_timeout=dt.timedelta(minutes=30))

    more = set(kept_columns(SessionTable.LIFECYCLE, by_timeout))
    assert more - set(kept_columns(SessionTable.LIFECYCLE, options())) == {
        "past_session_identifiers"
    }
