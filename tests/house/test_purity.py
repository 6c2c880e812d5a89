"""The rooms that only compute: core, plan and strategies touch nothing and know no time."""

import ast
import sys

import pytest

from house.source import SRC, files, found, place

PURE = ("core", "plan", "strategies")
THIRD_PARTIES = {"core": set(), "plan": set(), "strategies": {"sqlglot"}}
EFFECTS = {
    *("asyncio", "http", "io", "logging", "os", "random", "secrets", "shutil", "signal", "socket"),
    *("sqlite3", "subprocess", "sys", "tempfile", "threading", "time", "urllib", "uuid"),
}
CALLS = {"open", "print", "input", "now", "utcnow", "today", "read_text", "write_text"}


@pytest.mark.parametrize("room", PURE)
def test_a_pure_room_imports_only_what_its_row_allows(room):
    allowed = sys.stdlib_module_names - EFFECTS | THIRD_PARTIES[room] | {"penstock"}

    assert [
        f"{place(path, node)}: imports {name}"
        for path in files_of(room)
        for node in found(path, ast.Import, ast.ImportFrom)
        for name in imported(node)
        if name.split(".")[0] not in allowed
    ] == []


@pytest.mark.parametrize("room", PURE)
def test_a_pure_room_reads_no_clock_and_no_file(room):
    assert [
        f"{place(path, node)}: calls {called(node)}"
        for path in files_of(room)
        for node in found(path, ast.Call)
        if called(node) in CALLS
    ] == []


TIMES = {"acquired", "at", "ended", "executed_at", "expires", "heartbeat", "set_at", "started"}
TIMES |= {"modified", "moment", "run_timestamp", "time", "timestamp"}
ORDERS = {"max", "merge", "min", "nlargest", "nsmallest", "sort", "sorted"}


@pytest.mark.parametrize("folder", ["app/execution", "app/observation"])
def test_no_time_of_a_clock_puts_in_order_what_decides_on_rows(folder):
    """Clocks of several machines disagree and are set back; versions and numbers only rise."""
    assert [
        f"{place(path, key)}: {called(node)} by a time"
        for path in files_of(folder)
        for node in found(path, ast.Call)
        if called(node) in ORDERS
        for key in (keyword.value for keyword in node.keywords if keyword.arg == "key")
        if TIMES & {each.attr for each in ast.walk(key) if isinstance(each, ast.Attribute)}
    ] == []


def files_of(room):
    return [path for path in files() if SRC / room in path.parents]


def imported(node):
    if isinstance(node, ast.ImportFrom):
        return [node.module or "penstock"]
    return [alias.name for alias in node.names]


def called(node):
    match node.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""
