"""The question before partitions are overwritten."""

import datetime as dt

from penstock.app.reports import Overwrite
from penstock.ui.render.values import prompt_text

NOON = dt.datetime(2024, 12, 16, 12, tzinfo=dt.UTC)
TWO_WEEKS = (("2024-12-02", "2024-12-16"),)
DAILY = Overwrite("daily_user_stats", 15, TWO_WEEKS, NOON - dt.timedelta(hours=2, minutes=30))
ASKED = (
    "WARNING: This will overwrite 15 partitions\n"
    "  Query: daily_user_stats\n"
    "  Range: 2024-12-02 to 2024-12-16\n"
    "  Last successful run: 2 hours ago\n"
)


def test_the_question_names_model_range_and_age():
    assert f"{prompt_text([DAILY], NOON)}\n" == ASKED


def test_foreign_and_breaking_changes_are_named_where_there_are_any():
    each = Overwrite(
        "daily_user_stats",
        15,
        TWO_WEEKS,
        NOON - dt.timedelta(hours=2),
        foreign=(("2024-12-03", "2024-12-03"),),
        foreign_count=1,
        breaking=("events BIGINT -> DOUBLE",),
    )

    assert prompt_text([each], NOON) == (
        f"{ASKED}"
        "  Changed by others since: 1 partition (2024-12-03)\n"
        "  Breaking: events BIGINT -> DOUBLE, rewrites the table"
    )


def test_a_full_refresh_of_a_table_that_others_made_is_named_so():
    each = Overwrite("users", 1, (("*", "*"),), full_refresh=True)

    assert prompt_text([each], NOON) == (
        "WARNING: This will overwrite 1 partition\n"
        "  Query: users\n"
        "  Range: *\n"
        "  Full refresh: rebuilds the whole table"
    )


def test_at_most_five_models_are_asked_for_by_name():
    each = [Overwrite(f"m{n}", 1, (("2024", "2024"),)) for n in range(7)]

    blocks = prompt_text(each, NOON).split("\n\n")

    assert blocks[4:] == [
        "WARNING: This will overwrite 1 partition\n  Query: m4\n  Range: 2024",
        "and 2 more models",
    ]
