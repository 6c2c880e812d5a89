/** What the address of the lineage page says, and the nodes that it asks for. */

import type { ProjectDocument } from "../data/documents";
import { decoded } from "../shell/route";
import { allAsDots } from "./ahead";
import { edgesAmong, type Graph, reach } from "./graph";
import { dots, laidOut } from "./layout";
import { grouped, labelOf, type Scene } from "./scene";
import { select } from "./selection";

export type Picture = "graph" | "schemas" | "dots";

/** Values of an address that a new selection forgets. */
export const NEW = { depth: null, grow: null, open: null, view: null, node: null, column: null };

export interface Settings {
  readonly select: string;
  /** Hops around the selection. */
  readonly depth: number;
  readonly picture: Picture;
  /** Nodes that were clicked: each brings its neighbours. */
  readonly grown: readonly string[];
  /** Schemas of which the models are shown. */
  readonly opened: readonly string[];
  readonly node: string | null;
  readonly column: string | null;
}

const FEW = 200;
const MOST_DEPTH = 99;

/** Read an address; without a selection, a large project is shown by schemas. */
export function readSettings(query: URLSearchParams, nodes: number): Settings {
  const selection = query.get("select")?.trim() ?? "";
  const view = query.get("view");
  const usual = selection === "" && nodes > FEW ? "schemas" : "graph";
  const depth = Number(query.get("depth") ?? usualDepth(selection));
  return {
    select: selection,
    depth: Number.isInteger(depth) && depth >= 0 ? Math.min(depth, MOST_DEPTH) : 0,
    picture: view === "graph" || view === "schemas" || view === "dots" ? view : usual,
    grown: readList(query.get("grow")),
    opened: readList(query.get("open")),
    node: query.get("node"),
    column: query.get("column"),
  };
}

/** A selection that names no depth itself shows one hop each way. */
function usualDepth(selection: string): number {
  return selection === "" || /[+@]/.test(selection) ? 0 : 1;
}

function readList(text: string | null): string[] {
  if (text === null || text === "") return [];
  return text.split(",").map((each) => decoded(each) ?? each);
}

/** Return a list as it stands in an address, null for none. */
export function writeList(items: readonly string[]): string | null {
  return items.length === 0 ? null : [...new Set(items)].map(encodeURIComponent).join(",");
}

/** Return the nodes of the graph; throw `SelectionError` for a selection that matches nothing. */
export function nodesAsked(
  project: ProjectDocument,
  graph: Graph,
  settings: Settings,
): ReadonlySet<string> {
  if (settings.select === "") return new Set(graph.nodes);
  const chosen = select(project, graph, settings.select).nodes;
  const nodes = around(graph, chosen, settings.depth);
  const grown = around(
    graph,
    settings.grown.filter((each) => graph.parents.has(each)),
    1,
  );
  return new Set([...nodes, ...grown]);
}

function around(graph: Graph, start: Iterable<string>, depth: number): Set<string> {
  const nodes = [...start];
  return new Set([...reach(nodes, graph.parents, depth), ...reach(nodes, graph.children, depth)]);
}

/** Return what the canvas shows. */
export function sceneAsked(project: ProjectDocument, graph: Graph, settings: Settings): Scene {
  if (settings.picture === "dots" && settings.select === "") return allAsDots(project);
  const nodes = nodesAsked(project, graph, settings);
  const edges = edgesAmong(graph, nodes);
  if (settings.picture === "schemas") {
    const joined = grouped(project, [...nodes], edges, new Set(settings.opened));
    return laidOut(joined.labels, joined.edges);
  }
  const labels = [...nodes].map((node) => labelOf(project, node));
  return settings.picture === "dots" ? dots(labels, edges) : laidOut(labels, edges);
}
