"""The dependency graph: order, cycles, closures."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.graph import children, find_cycle, ordered, reach

NAMES = "abcdefg"
ANY = st.dictionaries(
    st.sampled_from(NAMES), st.lists(st.sampled_from(NAMES + "xy"), max_size=4), max_size=7
)
ACYCLIC = ANY.map(
    lambda edges: {n: [p for p in ps if p < n or p in "xy"] for n, ps in edges.items()}
)


@given(ACYCLIC)
def test_every_node_comes_once_and_after_its_parents(edges):
    found = ordered(edges)

    assert sorted(found) == sorted(edges)
    for place, name in enumerate(found):
        assert {parent for parent in edges[name] if parent in edges} <= set(found[:place])


@given(ACYCLIC, st.randoms())
def test_the_order_does_not_depend_on_the_order_of_files(edges, random):
    shuffled = list(edges.items())
    random.shuffle(shuffled)

    assert ordered(dict(shuffled)) == ordered(edges)


@given(ANY)
def test_a_cycle_is_found_exactly_where_there_is_one(edges):
    path = find_cycle(edges)

    if path:
        assert path[0] == path[-1] == min(path)
        assert all(now in edges[after] for now, after in pairwise(path))
    else:
        assert sorted(ordered(edges)) == sorted(edges)


@given(ANY)
def test_turning_the_arrows_twice_gives_them_back(edges):
    turned = children(edges)

    for node, parents in edges.items():
        assert all(node in turned[parent] for parent in parents)


@given(ANY, st.sets(st.sampled_from(NAMES)))
def test_a_closure_holds_its_start_and_grows_with_its_depth(edges, start):
    closures = [reach(start, edges, depth) for depth in range(8)]

    assert closures[0] == start
    assert all(small <= large for small, large in pairwise(closures))
    assert closures[-1] == reach(start, edges) == reach(reach(start, edges), edges)


@pytest.mark.parametrize(("depth", "found"), [(0, "c"), (1, "bc"), (2, "abc"), (None, "abc")])
def test_depth_counts_arrows(depth, found):
    assert "".join(sorted(reach("c", {"c": "b", "b": "a"}, depth))) == found
