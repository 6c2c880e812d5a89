"""Values of the last site are used again if everything that they come from is the same."""

import pytest

from penstock.app.site.cache import SiteCache
from penstock.core.masking import SECRETS

TASK = ("markdown", "**bold**")
HTML = "<p><strong>bold</strong></p>"


@pytest.fixture
def cache(tmp_path):
    """Give a cache of version 1 that computed one value."""
    found = SiteCache(tmp_path / "cache" / "site.json", "1")
    assert found.computed(*TASK) == HTML
    found.save()
    return found


def never():
    raise AssertionError("it was computed")


def test_a_value_is_computed_once_for_two_sites(cache):
    again = SiteCache(cache.path, "1")

    assert not again.is_new(1)
    assert again.of(never, *TASK) == HTML


def test_another_version_computes_again(cache):
    other = SiteCache(cache.path, "2")

    assert other.is_new(1)
    assert other.of(lambda: "new", *TASK) == "new"


def test_what_one_site_did_not_use_is_gone_from_the_next(cache):
    second = SiteCache(cache.path, "1")
    second.of(lambda: 1, "another")
    second.save()

    assert SiteCache(cache.path, "1").of(lambda: 2, *TASK) == 2


def test_what_was_computed_ahead_is_there(tmp_path):
    cache = SiteCache(tmp_path / "site.json", "1")

    cache.compute_ahead([TASK, ("code", "text", "a<b")])

    assert cache.of(never, *TASK) == HTML
    assert cache.of(never, "code", "text", "a<b") == ["a&lt;b"]


def test_a_secret_is_never_written(tmp_path):
    SECRETS.add(["hunter2hunter2"])
    cache = SiteCache(tmp_path / "site.json", "1")

    cache.computed("markdown", "hunter2hunter2")
    cache.save()

    assert not cache.path.exists()


@pytest.mark.parametrize("text", ["", "[]", '{"format": 2, "salt": "1"}', "\0"])
def test_a_damaged_file_is_empty(cache, text):
    cache.path.write_text(text)

    assert SiteCache(cache.path, "1").of(lambda: "new", *TASK) == "new"
