/** Places of nodes: layers from left to right. */

import { Graph as Drawn, layout } from "@dagrejs/dagre";
import { type Edge, type Graph, layersOf } from "./graph";
import type { Label, Scene, SceneEdge, SceneNode } from "./scene";

const HEIGHT = 28;
const LETTER = 7;
const MOST_LETTERS = 40;
const MOST_NODES = 250;
const MOST_EDGES = 700;
const COLUMN_GAP = 60;
const ROW_GAP = 14;
const DOT = 6;
const DOT_PITCH = 12;
const DOT_ROWS = 80;

function widthOf({ label }: Label): number {
  return Math.min(label.length, MOST_LETTERS) * LETTER + 40;
}

/** Return the scene of some nodes; few are laid out with few crossings, many in plain layers. */
export function laidOut(labels: readonly Label[], edges: readonly Edge[]): Scene {
  const isSmall = labels.length <= MOST_NODES && edges.length <= MOST_EDGES;
  return isSmall ? byDagre(labels, edges) : inLayers(labels, edges);
}

function byDagre(labels: readonly Label[], edges: readonly Edge[]): Scene {
  const graph = new Drawn();
  graph.setGraph({ rankdir: "LR", nodesep: ROW_GAP, ranksep: COLUMN_GAP });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const label of labels) graph.setNode(label.id, { width: widthOf(label), height: HEIGHT });
  for (const [from, to] of edges) graph.setEdge(from, to);
  layout(graph);
  const nodes = labels.map((label): SceneNode => {
    const { x, y } = graph.node(label.id) as { x: number; y: number };
    return { ...label, x, y, width: widthOf(label), height: HEIGHT };
  });
  return sceneOf(nodes, edges, ([from, to]) => {
    const { points } = graph.edge(from, to) as { points: { x: number; y: number }[] };
    return points.flatMap(({ x, y }) => [x, y]);
  });
}

/** Each layer is a column; its nodes stand near the middle of their parents. */
function inLayers(labels: readonly Label[], edges: readonly Edge[]): Scene {
  const nodes: SceneNode[] = [];
  let left = 0;
  for (const column of orderedLayers(labels, graphOfEdges(labels, edges))) {
    const width = Math.max(...column.map(widthOf));
    const top = (-column.length * (HEIGHT + ROW_GAP)) / 2;
    for (const [row, label] of column.entries()) {
      const y = top + row * (HEIGHT + ROW_GAP);
      const own = widthOf(label);
      nodes.push({ ...label, x: left + own / 2, y, width: own, height: HEIGHT });
    }
    left += width + COLUMN_GAP * 2;
  }
  return sceneOf(nodes, edges);
}

/** Return nodes as dots; a long layer takes several columns. `graph` has these edges. */
export function dots(
  labels: readonly Label[],
  edges: readonly Edge[],
  graph = graphOfEdges(labels, edges),
): Scene {
  const nodes: SceneNode[] = [];
  let column = 0;
  for (const layer of orderedLayers(labels, graph)) {
    const rows = Math.min(DOT_ROWS, layer.length);
    for (const [index, label] of layer.entries()) {
      const x = (column + Math.floor(index / rows)) * DOT_PITCH;
      const y = ((index % rows) - rows / 2) * DOT_PITCH;
      nodes.push({ ...label, x, y, width: DOT, height: DOT });
    }
    column += Math.ceil(layer.length / rows) + 4;
  }
  return sceneOf(nodes, edges);
}

function graphOfEdges(labels: readonly Label[], edges: readonly Edge[]): Graph {
  const nodes = labels.map(({ id }) => id);
  const parents = new Map<string, string[]>(nodes.map((id) => [id, []]));
  const children = new Map<string, string[]>(nodes.map((id) => [id, []]));
  for (const [from, to] of edges) {
    parents.get(to)?.push(from);
    children.get(from)?.push(to);
  }
  return { nodes, parents, children };
}

/** Return the layers of nodes, each in the order of the middle of its parents' places. */
function orderedLayers(labels: readonly Label[], graph: Graph): Label[][] {
  const layers: Label[][] = [];
  const layerOf = layersOf(graph);
  for (const label of labels) {
    const layer = layerOf.get(label.id) ?? 0;
    while (layers.length <= layer) layers.push([]);
    layers[layer]?.push(label);
  }
  const place = new Map<string, number>();
  for (const layer of layers) {
    const middle = new Map(
      layer.map(({ id }) => {
        const above = (graph.parents.get(id) ?? []).map((each) => place.get(each) ?? 0);
        return [id, above.reduce((sum, each) => sum + each, 0) / Math.max(1, above.length)];
      }),
    );
    layer.sort((a, b) => (middle.get(a.id) ?? 0) - (middle.get(b.id) ?? 0));
    for (const [index, { id }] of layer.entries()) place.set(id, index / layer.length);
  }
  return layers;
}

/** Move nodes so that the corner is 0, 0, where dagre's are already. */
function sceneOf(
  nodes: readonly SceneNode[],
  edges: readonly Edge[],
  pointsOf?: (edge: Edge) => number[],
): Scene {
  const indices = new Map(nodes.map(({ id }, index) => [id, index]));
  const lines = edges.flatMap((edge): SceneEdge[] => {
    const [from, to] = [indices.get(edge[0]), indices.get(edge[1])];
    if (from === undefined || to === undefined) return [];
    return [pointsOf ? { from, to, points: pointsOf(edge) } : { from, to }];
  });
  const least = { x: 0, y: 0, right: 0, bottom: 0 };
  for (const { x, y, width, height } of nodes) {
    least.x = Math.min(least.x, x - width / 2);
    least.y = Math.min(least.y, y - height / 2);
    least.right = Math.max(least.right, x + width / 2);
    least.bottom = Math.max(least.bottom, y + height / 2);
  }
  return {
    nodes: nodes.map((node) => ({ ...node, x: node.x - least.x, y: node.y - least.y })),
    edges: lines,
    width: least.right - least.x,
    height: least.bottom - least.y,
  };
}
