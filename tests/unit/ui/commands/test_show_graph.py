"""The pictures of `graph`."""

import json
import re

from penstock.app.commands.show import Graph, GraphNode
from penstock.app.documents import printed
from penstock.ui.commands.show import dot_text, graph_document, mermaid_text, tree_text

EDGES = (
    ("raw.events", "analytics.daily_user_stats"),
    ("raw.events", "analytics.revenue_by_region"),
    ("analytics.daily_user_stats", "analytics.weekly_summary"),
    ("analytics.daily_user_stats", "analytics.user_cohorts"),
    ("analytics.revenue_by_region", "analytics.weekly_summary"),
    ("analytics.weekly_summary", "reporting.monthly_report"),
)


def a_graph(*edges, alone=()):
    tables = sorted({table for edge in edges for table in edge} | set(alone))
    kinds = {table: "source" if table.startswith("raw.") else "model" for table in tables}
    return Graph(
        tuple(GraphNode(table, table, kinds[table]) for table in tables), tuple(sorted(edges))
    )


def test_the_tree_is_drawn_as_the_first_users_drew_it():
    assert tree_text(a_graph(*EDGES)) == (
        "raw.events\n"
        "    │\n"
        "    ├── analytics.daily_user_stats\n"
        "    │       │\n"
        "    │       ├── analytics.weekly_summary\n"
        "    │       │       │\n"
        "    │       │       └── reporting.monthly_report\n"
        "    │       │\n"
        "    │       └── analytics.user_cohorts\n"
        "    │\n"
        "    └── analytics.revenue_by_region\n"
        "            │\n"
        "            └── analytics.weekly_summary"
    )


def test_every_root_has_a_tree_of_its_own():
    assert tree_text(a_graph(("raw.a", "s.b"), alone=("s.alone",))) == (
        "raw.a\n    │\n    └── s.b\n\ns.alone"
    )


def test_no_models_draw_nothing():
    assert tree_text(Graph()) == ""


def test_mermaid_tells_models_from_sources():
    assert mermaid_text(a_graph(("raw.a", "s.b"))) == (
        'graph LR\n    n0[("raw.a")]\n    n1["s.b"]\n    n0 --> n1'
    )


def test_graphviz_quotes_names():
    assert dot_text(a_graph(("raw.a", 's."b'))) == (
        "digraph penstock {\n"
        "    rankdir=LR;\n"
        '    "raw.a" [shape=cylinder];\n'
        '    "s.\\"b" [shape=box];\n'
        '    "raw.a" -> "s.\\"b";\n'
        "}"
    )


F = Graph(
    (
        GraphNode("analytics.daily_user_stats", "daily_user_stats", "model", "partition", 3),
        GraphNode("analytics.weekly_summary", "weekly_summary", "model", "partition", 1),
        GraphNode("raw.events", "raw.events", "source"),
        GraphNode("reporting.monthly_report", "monthly_report", "model", "partition", 1),
    ),
    (
        ("analytics.daily_user_stats", "analytics.weekly_summary"),
        ("analytics.weekly_summary", "reporting.monthly_report"),
        ("raw.events", "analytics.daily_user_stats"),
    ),
)


def test_the_tree_names_the_versions_of_the_run_date():
    assert tree_text(F) == (
        "raw.events\n"
        "    │\n"
        "    └── analytics.daily_user_stats (v3)\n"
        "            │\n"
        "            └── analytics.weekly_summary (v1)\n"
        "                    │\n"
        "                    └── reporting.monthly_report (v1)"
    )


def test_mermaid_is_nodes_then_arrows_between_them():
    lines = mermaid_text(F).splitlines()

    node = re.compile(r'    (n\d+)(?:\["([^"]+)"\]|\[\("([^"]+)"\)\])')
    arrow = re.compile(r"    (n\d+) --> (n\d+)")
    names = {m[1]: m[2] or m[3] for m in map(node.fullmatch, lines) if m}
    arrows = [(names[m[1]], names[m[2]]) for m in map(arrow.fullmatch, lines) if m]
    assert lines[0] == "graph LR"
    assert len(lines) == 1 + len(names) + len(arrows)
    assert arrows == [
        ("analytics.daily_user_stats (v3)", "analytics.weekly_summary (v1)"),
        ("analytics.weekly_summary (v1)", "reporting.monthly_report (v1)"),
        ("raw.events", "analytics.daily_user_stats (v3)"),
    ]


def test_graphviz_labels_nodes_with_their_version():
    assert dot_text(F).splitlines()[2:6] == [
        '    "analytics.daily_user_stats" [shape=box, label="analytics.daily_user_stats (v3)"];',
        '    "analytics.weekly_summary" [shape=box, label="analytics.weekly_summary (v1)"];',
        '    "raw.events" [shape=cylinder];',
        '    "reporting.monthly_report" [shape=box, label="reporting.monthly_report (v1)"];',
    ]


def test_json_has_nodes_with_versions_and_edges():
    document = json.loads(printed(graph_document(F)))

    assert [(node["table"], node["version"]) for node in document["nodes"]] == [
        ("analytics.daily_user_stats", 3),
        ("analytics.weekly_summary", 1),
        ("raw.events", None),
        ("reporting.monthly_report", 1),
    ]
    assert document["edges"][0] == {
        "from": "analytics.daily_user_stats",
        "to": "analytics.weekly_summary",
    }


def test_an_exposure_is_a_leaf_with_a_shape_of_its_own():
    model = GraphNode("s.a", "a", "model", "table")
    graph = Graph((model, GraphNode("exposure:e", "e", "exposure")), (("s.a", "exposure:e"),))

    assert mermaid_text(graph).splitlines()[1:] == [
        '    n0["s.a"]',
        '    n1(["exposure:e"])',
        "    n0 --> n1",
    ]
    assert '"exposure:e" [shape=ellipse];' in dot_text(graph)
    assert tree_text(graph) == "s.a\n    │\n    └── exposure:e"
