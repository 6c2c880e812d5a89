"""What a plan says of models that cannot run: each error once, and what is skipped for it."""

import pytest

PARTITIONED = "{{ config(materialized='partition', partition_by='d', start='2026-01-01') }}\n"


@pytest.fixture
def lost(services, call):
    """Write a project whose only source is not there, and models that read it in two ways."""
    root = services(
        **{
            "models/marts/daily.sql": "{{ config(materialized='table') }}\n"
            "select * from {{ ref('users_clean') }}\n",
            "models/marts/by_day.sql": f"{PARTITIONED}select id, d from {{{{ ref('daily') }}}} "
            "where d = @partition_date\n",
        }
    )
    (root / "landing" / "users.csv").unlink()
    return root


def test_a_plan_prints_a_lost_source_once_and_says_what_it_stops_and_what_is_skipped(lost, call):
    answer = call("plan", "--as-of", "2026-01-02T12:00:00Z")

    assert answer.out.count("source-missing") == 1
    assert "    stops log, users_clean\n" in answer.out
    assert "daily" in answer.out
    assert answer.out.count("will be skipped: upstream users_clean failed") == 2


def test_a_preview_of_sync_says_what_will_be_skipped_too(lost, call):
    answer = call("sync", "--dry-run", "--as-of", "2026-01-02T12:00:00Z")

    assert answer.out.count("source-missing") == 1
    assert answer.out.count("will be skipped: upstream users_clean failed") == 2
