"""Steps on threads: after their upstreams, so many at a time, failures stop what hangs on them."""

import threading

from hypothesis import given
from hypothesis import strategies as st

from penstock.app.execution.schedule import Node, Schedule, StepActions
from penstock.core.graph import reach

NAMES = "abcdefgh"


@st.composite
def graphs(draw):
    """Give upstreams by node: any node may come after any of the nodes before it."""
    size = draw(st.integers(1, len(NAMES)))
    return {
        name: draw(st.sets(st.sampled_from(NAMES[:place]))) if place else set()
        for place, name in enumerate(NAMES[:size])
    }


class Watch:
    """Does nodes and writes down what was under way when each began."""

    def __init__(self, failing=()):
        self.failing = failing
        self.lock = threading.Lock()
        self.done, self.under_way, self.most = [], set(), 0
        self.before = {}

    def do(self, name):
        with self.lock:
            self.before[name] = tuple(self.done)
            self.under_way.add(name)
            self.most = max(self.most, len(self.under_way))
        with self.lock:
            self.under_way.remove(name)
            self.done.append(name)
        return name, "failed" if name in self.failing else "done"

    def skip(self, name, because):
        return name, f"skipped: {because}"

    def schedule(self, graph, threads=4, bad=()):
        nodes = [Node(name, tuple(sorted(after))) for name, after in graph.items()]
        work = StepActions(self.do, self.skip, lambda result: result[1] == "failed")
        return Schedule(reversed(nodes), work, threads, bad)


def downstream(graph, names):
    readers = {name: [n for n, after in graph.items() if name in after] for name in graph}
    return reach(names, readers) - set(names)


@given(graphs(), st.integers(1, 3), st.sets(st.sampled_from(NAMES)))
def test_every_node_ends_once_in_order_and_failures_skip_what_hangs_on_them(graph, threads, bad):
    watch = Watch(failing=bad)

    results = dict(watch.schedule(graph, threads).results())

    assert results.keys() == graph.keys()
    assert watch.most <= threads
    for name, seen in watch.before.items():
        assert graph[name] <= set(seen)
    ran_and_failed = bad & watch.before.keys()
    assert {n for n, r in results.items() if "skipped" in r} == downstream(graph, ran_and_failed)


@given(graphs(), st.sets(st.sampled_from(NAMES)))
def test_what_failed_before_skips_what_hangs_on_it(graph, bad):
    nodes = {name: after for name, after in graph.items() if name not in bad}

    results = dict(Watch().schedule(nodes, bad=bad).results())

    assert {n for n, r in results.items() if "skipped" in r} == downstream(
        graph, bad & set(graph)
    ) - bad


def test_independent_nodes_run_side_by_side():
    both = threading.Barrier(2, timeout=20)
    work = StepActions(
        lambda name: (name, both.wait()), lambda name, _: (name, -1), lambda _: False
    )

    results = dict(Schedule([Node("a", ()), Node("b", ())], work, 2).results())

    assert sorted(results.values()) == [0, 1]


def test_fail_fast_starts_nothing_new():
    watch = Watch(failing={"c"})

    results = dict(watch.schedule({"a": set(), "b": set(), "c": set()}, 1).results(fail_fast=True))

    assert results == {"c": "failed", "b": "skipped: ", "a": "skipped: "}


def test_a_stopped_schedule_gives_what_ran_and_skips_the_rest():
    schedule = Watch().schedule({"a": set(), "b": {"a"}, "c": {"b"}})
    first = next(schedule.results())

    assert first == ("a", "done")
    assert dict(schedule.stop()) == {"b": "skipped: ", "c": "skipped: "}


def results_of(*nodes, failing=()):
    watch = Watch(failing)
    work = StepActions(watch.do, watch.skip, lambda result: result[1] == "failed")
    return list(Schedule(nodes, work, 4).results())


def test_a_tolerant_node_waits_for_what_it_is_after_and_is_done_though_that_failed():
    tolerant = Node("b", ("a",), tolerant=True)

    assert results_of(tolerant, Node("a", ()), failing={"a"}) == [("a", "failed"), ("b", "done")]


def test_a_node_that_is_only_later_than_another_waits_for_it_and_never_hangs_on_it():
    later = Node("b", (), later_than=("a",))

    assert results_of(later, Node("a", ()), failing={"a"}) == [("a", "failed"), ("b", "done")]


def test_no_thread_is_one_thread():
    assert dict(Watch().schedule({"a": set(), "b": {"a"}}, threads=0).results()) == {
        "a": "done",
        "b": "done",
    }
