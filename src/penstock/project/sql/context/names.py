"""Everything that a template can call, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.project.files.render_context import RenderContext
from penstock.project.sql.context.conversions import CONVERSIONS
from penstock.project.sql.context.functions import (
    ConfigFunction,
    VarFunction,
    Words,
    end_macro,
    print_nothing,
    quote,
)
from penstock.project.sql.context.modules import Spend, modules_of
from penstock.project.sql.context.rendering import Now
from penstock.project.sql.context.rows import RowsFunctions
from penstock.project.sql.context.tables import Tables, created_relation
from penstock.project.sql.context.values import RUN_ID, RUN_TOKEN, ColumnView, Facade, RunTime

_FAILS = ("compiler_error", "not_implemented", "database_error", "parsing_error")
_DBT_VERSION = "1.10.0"
"""What macros of packages compare with: the release whose context this is."""


def names_of(
    now: Now,
    context: RenderContext,
    dispatch: Callable[..., Any],
    render: Callable[[str], str],
    spend: Spend,
) -> dict[str, Any]:
    """Return the names of templates.

    `dispatch` finds macros, `render` renders a text, `spend` takes from the budget.
    """
    words, rows = Words(now, context), RowsFunctions(now, context)
    tables = Tables(now, context, rows)
    config = ConfigFunction(now, context)
    calls = {"ref": tables.ref, "source": tables.source, "config": config}
    return {
        **CONVERSIONS,
        **calls,
        **rows.functions(),
        "var": VarFunction(now, context, render),
        "env_var": words.env_var,
        "is_incremental": words.is_incremental,
        "should_full_refresh": words.full_refresh,
        "should_store_failures": lambda: False,
        "load_relation": tables.load_relation,
        "load_cached_relation": tables.load_relation,
        "as_of": tables.as_of,
        "doc": words.doc,
        "return": end_macro,
        "log": print_nothing,
        "print": print_nothing,
        "builtins": Facade(calls),
        "adapter": _adapter(tables, dispatch),
        "exceptions": Facade({"warn": words.warn, **{f"raise_{x}": words.fail for x in _FAILS}}),
        "this": tables.this,
        "target": words.target(),
        "flags": words.flags(),
        "graph": words.graph(),
        "model": words.model(tables.this, config),
        "modules": modules_of(spend),
        **_constants(context),
    }


def _adapter(tables: Tables, dispatch: Callable[..., Any]) -> Facade:
    """Return `adapter`."""
    return Facade(
        {
            "dispatch": dispatch,
            "quote": quote,
            "get_columns_in_relation": tables.columns_of,
            "get_relation": tables.get_relation,
            "type": lambda: "spark",
        }
    )


def _constants(context: RenderContext) -> dict[str, Any]:
    """Return the names whose value is the same in every file."""
    return {
        "api": Facade({"Column": ColumnView, "Relation": Facade({"create": created_relation})}),
        "run_timestamp": RUN_TOKEN,
        "run_started_at": RunTime(),
        "invocation_id": RUN_ID,
        "project_name": context.project,
        "dbt_version": _DBT_VERSION,
        "null": None,
    }
