/** The graph of models, seeds and sources: edges both ways, closures and layers. */

import type { ProjectDocument } from "../data/documents";

export type Edges = ReadonlyMap<string, readonly string[]>;

export interface Graph {
  readonly nodes: readonly string[];
  readonly parents: Edges;
  readonly children: Edges;
}

/** Return the graph of a project; inputs that are no nodes of it are left out. */
export function graphOf(project: ProjectDocument): Graph {
  const parents = new Map<string, readonly string[]>();
  for (const { node } of project.sources) parents.set(node, []);
  for (const { name, reads } of project.models) parents.set(name, reads);
  return graphOfParents(parents);
}

/** Return the graph of nodes with their parents. */
export function graphOfParents(parents: Edges): Graph {
  const known = new Map<string, string[]>();
  const children = new Map<string, string[]>();
  for (const node of parents.keys()) children.set(node, []);
  for (const [node, inputs] of parents) {
    const own = [...new Set(inputs)].filter((each) => parents.has(each) && each !== node);
    known.set(node, own);
    for (const each of own) children.get(each)?.push(node);
  }
  return { nodes: [...parents.keys()], parents: known, children };
}

/** Return the start nodes and all that are reachable over at most `depth` edges. */
export function reach(start: Iterable<string>, edges: Edges, depth: number | null): Set<string> {
  const seen = new Set(start);
  let front = [...seen];
  for (let left = depth ?? Number.POSITIVE_INFINITY; front.length > 0 && left > 0; left -= 1) {
    const next: string[] = [];
    for (const node of front) {
      for (const each of edges.get(node) ?? []) {
        if (seen.has(each)) continue;
        seen.add(each);
        next.push(each);
      }
    }
    front = next;
  }
  return seen;
}

/** Return the layer of each node: the longest path to it; edges that close a cycle do not count. */
export function layersOf({ nodes, parents, children }: Graph): Map<string, number> {
  const layers = new Map<string, number>();
  const waiting = new Map(nodes.map((node) => [node, parents.get(node)?.length ?? 0]));
  let ready = nodes.filter((node) => waiting.get(node) === 0);
  while (layers.size < nodes.length) {
    const cyclic = ready.length === 0 ? nodes.find((node) => !layers.has(node)) : undefined;
    const now: string[] = cyclic === undefined ? ready : [cyclic];
    ready = [];
    for (const node of now) {
      if (layers.has(node)) continue;
      const above = (parents.get(node) ?? []).map((each) => layers.get(each) ?? -1);
      layers.set(node, above.length === 0 ? 0 : Math.max(...above) + 1);
      for (const child of children.get(node) ?? []) {
        const left = (waiting.get(child) ?? 0) - 1;
        waiting.set(child, left);
        if (left === 0) ready.push(child);
      }
    }
  }
  return layers;
}

export type Edge = readonly [from: string, to: string];

/** Return the edges between some nodes. */
export function edgesAmong({ parents }: Graph, nodes: ReadonlySet<string>): Edge[] {
  return [...nodes].flatMap((node) =>
    (parents.get(node) ?? []).filter((each) => nodes.has(each)).map((each): Edge => [each, node]),
  );
}
