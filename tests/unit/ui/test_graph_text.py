"""The pictures of `graph`."""

from penstock.app.graphing import Graph, GraphNode
from penstock.ui.text_graph import dot_text, mermaid_text, tree_text

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
