"""Keys of packages from `var()`, `env_var()` and the target."""

import datetime as dt

import pytest

from fakes.session_files import HEAD, PATH, source

PROJECT = """\
name: shop
vars: {limit: 7, day: 2022-01-01}
targets:
  dev: {sessions: {web: {start_date: 2024-01-01, backfill_limit_days: 2}}}
  prod: {vars: {limit: 9}, sessions: {web: {start_date: 2021-06-01, app_ids: [shop]}}}
"""
WHOLE = "it must be an integer from 1 to 300000"
KEYS = """\
start_date: 2020-05-01
backfill_limit_days: "{{ var('limit') }}"
max_session_days: "{{ var('cap', 2) }}"
description: "for {{ var('whom', 'all') }} from {{ env_var('TEAM', 'web') }}"
"""


def project(text=PROJECT, keys=KEYS):
    return {"penstock.yml": text, PATH: HEAD + keys, "models/sources.yml": source()}


@pytest.mark.parametrize(
    ("target", "start", "limit", "apps"),
    [("dev", dt.date(2024, 1, 1), 2, ()), ("prod", dt.date(2021, 6, 1), 9, ("shop",))],
)
def test_each_target_has_its_own_start_and_its_own_variables(load, target, start, limit, apps):
    found = load(project(), target=target)
    options = found.packages["web"].options

    assert found.findings == ()
    assert (options.start_date.date(), options.backfill_limit_days) == (start, limit)
    assert (options.app_ids, options.max_session_days) == (apps, 2)
    assert found.models["web_sessions"].description == "for all from web"


def test_what_is_wrong_is_told_at_its_line_with_all_other_findings(findings):
    text = """\
name: shop
targets:
  dev:
    sessions:
      web: {start_dat: 2024-01-01, heartbeat: 0, name: other}
      wob: {start_date: 2024-01-01}
      bad: 3
"""
    keys = "backfill_limit_days: \"{{ var('limit') }}\"\n"

    assert findings(project(text, keys)) == [
        "penstock.yml:5:24: error: unknown-key: unknown key 'start_dat'",
        f"penstock.yml:5:47: error: bad-value: heartbeat is 0; {WHOLE}",
        "penstock.yml:5:56: error: bad-value: a target cannot set 'name' of a session package",
        "penstock.yml:6:12: error: unknown-reference: no session package is called 'wob'",
        "penstock.yml:7:12: error: bad-value: sessions.bad is not a mapping of keys",
        "sessions/web.yml:4:22: error: missing-var: the variable 'limit' has no value",
    ]
