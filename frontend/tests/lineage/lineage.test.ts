import { describe, expect, test } from "vitest";
import type { ColumnRow } from "../../src/data/documents";
import { edgesAmong, graphOf, graphOfParents, layersOf, reach } from "../../src/lineage/graph";
import { dots, laidOut } from "../../src/lineage/layout";
import { shortened } from "../../src/lineage/paint";
import { grouped, type Label, labelOf, type Scene } from "../../src/lineage/scene";
import { nodesAsked, readSettings, sceneAsked, writeList } from "../../src/lineage/settings";
import { graphviz, mermaid, svg } from "../../src/lineage/texts";
import { traceColumn } from "../../src/lineage/trace";
import { fitted, nodesInSight, nodeUnder, zoomed } from "../../src/lineage/view";
import { PROJECT } from "../fixtures";

const GRAPH = graphOf(PROJECT);
const label = (id: string): Label => ({ id, label: id, kind: "sql", state: "current" });

function chain(): Scene {
  return {
    nodes: [
      { ...label('a"b'), x: 50, y: 14, width: 100, height: 28 },
      { ...label("<c>"), x: 250, y: 14, width: 100, height: 28 },
    ],
    edges: [{ from: 0, to: 1, points: [100, 14, 200, 14] }],
    width: 300,
    height: 28,
  };
}

describe("layers", () => {
  test("a node stands after the longest path to it", () => {
    const graph = graphOfParents(
      new Map([
        ["a", []],
        ["b", ["a"]],
        ["c", ["b", "a"]],
        ["d", ["a", "c"]],
        ["e", []],
      ]),
    );

    expect(Object.fromEntries(layersOf(graph))).toEqual({ a: 0, b: 1, c: 2, d: 3, e: 0 });
  });

  test("a cycle between schemas still gets layers", () => {
    const graph = graphOfParents(
      new Map([
        ["a", ["c"]],
        ["b", ["a"]],
        ["c", ["b"]],
      ]),
    );

    expect(Object.fromEntries(layersOf(graph))).toEqual({ a: 0, b: 1, c: 2 });
  });

  test("reach goes no further than asked", () => {
    expect([...reach(["staging.events"], GRAPH.children, 1)]).toEqual([
      "staging.events",
      "marts.revenue_by_day",
      "scores",
    ]);
    expect(reach(["staging.events"], GRAPH.children, null).size).toBe(4);
    expect(reach(["staging.events"], GRAPH.children, 0).size).toBe(1);
  });
});

describe("layout", () => {
  test("inputs stand left of what reads them, and no two nodes overlap", () => {
    const scene = sceneAsked(PROJECT, GRAPH, readSettings(new URLSearchParams(), 6));

    expect(scene.nodes).toHaveLength(6);
    for (const { from, to } of scene.edges) {
      expect(scene.nodes[from]?.x).toBeLessThan(scene.nodes[to]?.x ?? 0);
    }
    expect(overlaps(scene)).toBe(0);
  });

  test("many nodes stand in plain layers without overlaps", () => {
    const labels = Array.from({ length: 400 }, (_, n) => label(`model_${n}`));
    const edges = labels.slice(20).map(({ id }, n) => [`model_${n}`, id] as const);

    const scene = laidOut(labels, edges);

    expect(scene.nodes).toHaveLength(400);
    expect(overlaps(scene)).toBe(0);
    expect(Math.min(...scene.nodes.map(({ x, width }) => x - width / 2))).toBe(0);
  });

  test("5000 dots have 5000 places", () => {
    const labels = Array.from({ length: 5000 }, (_, n) => label(`m${n}`));
    const edges = labels.slice(500).map(({ id }, n) => [`m${n}`, id] as const);

    const scene = dots(labels, edges);

    expect(scene.nodes).toHaveLength(5000);
    expect(new Set(scene.nodes.map(({ x, y }) => `${x} ${y}`)).size).toBe(5000);
  });
});

function overlaps({ nodes }: Scene): number {
  let count = 0;
  for (const [index, a] of nodes.entries()) {
    for (const b of nodes.slice(index + 1)) {
      const isBeside = Math.abs(a.x - b.x) >= (a.width + b.width) / 2;
      const isBelow = Math.abs(a.y - b.y) >= (a.height + b.height) / 2;
      if (!isBeside && !isBelow) count += 1;
    }
  }
  return count;
}

describe("the address", () => {
  const read = (text: string, nodes = 6) => readSettings(new URLSearchParams(text), nodes);

  test("a plain name has one hop around it, a selection with depth none", () => {
    expect(read("select=scores").depth).toBe(1);
    expect(read("select=1%2Bscores").depth).toBe(0);
    expect(read("select=scores&depth=3").depth).toBe(3);
    expect(read("select=scores&depth=x").depth).toBe(0);
  });

  test("a large project begins with its schemas", () => {
    expect([read("", 6).picture, read("", 5000).picture, read("select=a", 5000).picture]).toEqual([
      "graph",
      "schemas",
      "graph",
    ]);
  });

  test("lists survive the address", () => {
    const text = new URLSearchParams({ open: writeList(["schema a,b", "seeds"]) ?? "" }).toString();

    expect(read(text).opened).toEqual(["schema a,b", "seeds"]);
    expect(writeList([])).toBeNull();
  });

  test("one hop each way, and one more around a node that was clicked", () => {
    const names = (text: string) => [...nodesAsked(PROJECT, GRAPH, read(text))].sort();

    expect(names("select=scores")).toEqual(["scores", "staging.events"]);
    expect(names("select=scores&grow=staging.events")).toEqual([
      "marts.revenue_by_day",
      "scores",
      "source:raw.events",
      "staging.events",
    ]);
  });

  test("schemas are nodes until they are opened", () => {
    const edges = edgesAmong(GRAPH, new Set(GRAPH.nodes));
    const joined = grouped(PROJECT, GRAPH.nodes, edges, new Set(["schema marts"]));

    expect(joined.labels.map(({ label, state }) => [label, state])).toEqual([
      ["sources (1)", ""],
      ["seeds (1)", ""],
      ["schema staging (1)", "current"],
      ["marts.revenue_by_day", "sql_changed"],
      ["marts.revenue_by_week", "failed"],
      ["schema science (1)", "never_run"],
    ]);
    expect(joined.edges).toHaveLength(5);
  });

  test("sources are shown without their prefix", () => {
    expect(labelOf(PROJECT, "source:raw.events")).toEqual({
      id: "source:raw.events",
      label: "raw.events",
      kind: "source",
      state: "",
    });
  });
});

describe("pan and zoom", () => {
  const screen = { width: 800, height: 600 };

  test("a small scene is shown in the middle, life-size; a large one as a whole", () => {
    expect(fitted({ width: 400, height: 200 }, screen)).toEqual({ x: 200, y: 200, scale: 1 });
    expect(fitted({ width: 1504, height: 200 }, screen).scale).toBe(0.5);
  });

  test("zooming keeps the point under the pointer", () => {
    expect(zoomed({ x: 10, y: 20, scale: 1 }, 2, 110, 120)).toEqual({ x: -90, y: -80, scale: 2 });
    expect(zoomed({ x: 0, y: 0, scale: 4 }, 2, 5, 5)).toEqual({ x: 0, y: 0, scale: 4 });
  });

  test("nodes are found under the pointer and in sight", () => {
    const view = { x: 0, y: 0, scale: 1 };

    expect(nodeUnder(chain(), view, 60, 10)?.id).toBe('a"b');
    expect(nodeUnder(chain(), view, 150, 10)).toBeUndefined();
    expect(nodesInSight(chain(), { ...view, x: -150 }, screen).map(({ id }) => id)).toEqual([
      "<c>",
    ]);
  });
});

describe("copies", () => {
  test("Mermaid", () => {
    expect(mermaid(chain())).toBe('flowchart LR\n  n0["a#34;b"]\n  n1["#60;c#62;"]\n  n0 --> n1\n');
  });

  test("Graphviz", () => {
    expect(graphviz(chain())).toBe(
      'digraph lineage {\n  rankdir=LR;\n  node [shape=box];\n  "a\\"b";\n  "<c>";\n  "a\\"b" -> "<c>";\n}\n',
    );
  });

  test("SVG shows names as text", () => {
    const text = svg(chain(), () => "#123456");

    expect(text).toContain("&#60;c&#62;</text>");
    expect(text).toContain('<polyline points="100 14 200 14"');
    expect(text).not.toContain("<c>");
  });

  test("long names keep their beginning and end", () => {
    expect(shortened(`a${"x".repeat(60)}b`)).toBe(`a${"x".repeat(18)}…${"x".repeat(19)}b`);
  });
});

describe("columns", () => {
  const row = (name: string, origins: ColumnRow["origins"]): ColumnRow => ({
    name,
    type: "int",
    description_html: "",
    checks: [],
    origins,
  });
  const ROWS: Readonly<Record<string, readonly ColumnRow[]>> = {
    "source:raw.events": [row("amount", []), row("user_id", [])],
    "staging.events": [row("amount", [{ node: "source:raw.events", column: "AMOUNT" }])],
    "marts.revenue_by_day": [
      row("total", [{ node: "staging.events", column: "amount" }]),
      row("days", []),
    ],
    "marts.revenue_by_week": [row("total", [{ node: "marts.revenue_by_day", column: "total" }])],
    scores: [row("score", null)],
  };
  const load = async (node: string) => ROWS[node] ?? null;

  test("a column lights its origins and what is made of it; functions are not known", async () => {
    const trace = await traceColumn(
      { node: "marts.revenue_by_day", column: "total" },
      GRAPH.children,
      load,
    );

    expect([...trace.columns].map(([node, names]) => [node, ...names])).toEqual([
      ["marts.revenue_by_day", "total"],
      ["staging.events", "amount"],
      ["source:raw.events", "AMOUNT"],
      ["marts.revenue_by_week", "total"],
    ]);
    expect([...trace.unknown]).toEqual([]);
    expect(trace.isCut).toBe(false);
  });

  test("a function below may use the column, which is not known", async () => {
    const trace = await traceColumn(
      { node: "source:raw.events", column: "amount" },
      GRAPH.children,
      load,
    );

    expect([...trace.columns.keys()]).toEqual([
      "source:raw.events",
      "staging.events",
      "marts.revenue_by_day",
      "marts.revenue_by_week",
    ]);
    expect([...trace.unknown]).toEqual(["scores"]);
  });

  test("very many nodes are not all followed", async () => {
    const place = { node: "source:raw.events", column: "amount" };

    expect((await traceColumn(place, GRAPH.children, load, 2)).isCut).toBe(true);
  });
});
