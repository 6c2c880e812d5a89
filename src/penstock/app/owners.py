"""Whose a table is, by the tokens in its log: ours, another state store's, or nobody's."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from penstock.app.shop import Shop
from penstock.core.facts import Commit
from penstock.core.step import StepKind
from penstock.core.token import project_of, read_intent
from penstock.plan.values import Owner


def last_writer(commits: Iterable[Commit]) -> Owner | None:
    """Give the store whose step wrote rows last; None without any. It may be this one."""
    writers = [commit for commit in commits if writes_rows(commit)]
    if not writers:
        return None
    return Owner(project_of(writers[-1].token), writers[-1].store)


def others(shop: Shop, writer: Owner | None) -> Owner | None:
    """Give a writer that is another store than this one, None for this one or nobody."""
    if writer is None or writer.store == shop.reading.archive.store_id():
        return None
    return writer


def of_this_project(shop: Shop, writer: Owner | None) -> bool:
    """Whether a table was written by this project, with this store or with one that was lost.

    A token of before tokens named their project tells nothing else.
    """
    if writer is None:
        return False
    return others(shop, writer) is None or writer.project in ("", shop.project.name)


def writes_rows(commit: Commit) -> bool:
    """Whether a step of penstock wrote rows or made the table.

    A property that it set on a foreign table does not count, nor a commit that holds nothing.
    """
    if not commit.step or not (commit.changes_data or commit.table_id):
        return False
    try:
        return read_intent(commit.token).kind is not StepKind.ALTER
    except (KeyError, ValueError):  # the token was cut
        return True


def unrecorded_commits(shop: Shop, commits: Collection[Commit]) -> tuple[Commit, ...]:
    """Give those changes of rows that name this store and that no step is on record as having made.

    The log is read before the store: a step that is running now is on record by then.
    """
    store = shop.reading.archive.store_id()
    named = {c.step: c for c in commits if c.step and c.store == store and c.changes_data}
    if not named:
        return ()
    versions = {step: commit.version for step, commit in named.items()}
    unknown = shop.reading.records.unrecorded(versions)
    return tuple(commit for step, commit in named.items() if step in unknown)
