/** What the canvas of the lineage shows: nodes with places, and the lines between them. */

import type { ProjectDocument } from "../data/documents";
import { modelNamed, modelState, sourceNamed } from "../data/project";
import { listByKey } from "../parts/collect";
import { stateLook, urgency } from "../parts/states";
import type { Edge } from "./graph";

export interface SceneNode {
  readonly id: string;
  readonly label: string;
  /** `sql`, `python`, `source`, …, or `group` for a schema. */
  readonly kind: string;
  /** The name of a state, "" for sources and seeds. */
  readonly state: string;
  /** The middle of the node. */
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export interface SceneEdge {
  readonly from: number;
  readonly to: number;
  /** x and y by turns; without them the edge is a straight line. */
  readonly points?: readonly number[];
}

export interface Scene {
  readonly nodes: readonly SceneNode[];
  readonly edges: readonly SceneEdge[];
  readonly width: number;
  readonly height: number;
}

/** Return the points of an edge. */
export function pointsOf({ nodes }: Scene, { from, to, points }: SceneEdge): readonly number[] {
  const [a, b] = [nodes[from], nodes[to]];
  if (points || !a || !b) return points ?? [];
  return [a.x + a.width / 2, a.y, b.x - b.width / 2, b.y];
}

/** A node before it has a place. */
export type Label = Omit<SceneNode, "x" | "y" | "width" | "height">;

/** Return how a model, source or seed is shown. */
export function labelOf(project: ProjectDocument, node: string): Label {
  const model = modelNamed(project, node);
  if (model !== undefined) {
    return { id: node, label: node, kind: model.kind, state: modelState(project, model) };
  }
  const kind = sourceNamed(project, node)?.kind ?? "source";
  return { id: node, label: node.replace(/^source:/, ""), kind, state: "" };
}

/** Return a node in words, for readers who do not see it. */
export function nodeWords({ label, kind, state }: Label): string {
  return state === "" ? `${label}, ${kind}` : `${label}, ${kind}, ${stateLook(state).words}`;
}

const GROUP = "group:";

/** Return the name of the group of a node: its schema, or `sources` and `seeds`. */
function groupOf(project: ProjectDocument, node: string): string {
  const model = modelNamed(project, node);
  if (model !== undefined) return `schema ${model.schema || "without a name"}`;
  return sourceNamed(project, node)?.kind === "seed" ? "seeds" : "sources";
}

/** Return the group that a scene's node stands for, null for any other node. */
export function groupNamed(id: string): string | null {
  return id.startsWith(GROUP) ? id.slice(GROUP.length) : null;
}

/** Return all nodes, those of groups that are not open joined to one; and the lines between. */
export function grouped(
  project: ProjectDocument,
  nodes: readonly string[],
  edges: readonly Edge[],
  opened: ReadonlySet<string>,
): { labels: Label[]; edges: Edge[] } {
  const idOf = new Map<string, string>();
  for (const node of nodes) {
    const group = groupOf(project, node);
    idOf.set(node, opened.has(group) ? node : GROUP + group);
  }
  const members = listByKey([...idOf].map(([node, id]) => [id, labelOf(project, node)]));
  const labels = [...members].map(([id, own]) => groupLabel(id, own));
  const joined = new Map<string, Edge>();
  for (const [from, to] of edges) {
    const ends: Edge = [idOf.get(from) ?? from, idOf.get(to) ?? to];
    if (ends[0] !== ends[1]) joined.set(ends.join("\n"), ends);
  }
  return { labels, edges: [...joined.values()] };
}

function groupLabel(id: string, members: readonly Label[]): Label {
  const group = groupNamed(id);
  const only = members[0];
  if (group === null && only !== undefined) return only;
  const states = members.map(({ state }) => state).filter((state) => state !== "");
  const [worst = ""] = states.sort((a, b) => urgency(a) - urgency(b));
  return { id, label: `${group} (${members.length})`, kind: "group", state: worst };
}
