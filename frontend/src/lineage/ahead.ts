/** The graph of a project and all its nodes as dots, made once, and early if there is time. */

import type { ProjectDocument } from "../data/documents";
import { edgesAmong, type Graph, graphOf } from "./graph";
import { dots } from "./layout";
import { type Label, labelOf, type Scene } from "./scene";

/** Return a function that computes its value once for each project. */
function once<Value>(make: (project: ProjectDocument) => Value) {
  const made = new WeakMap<ProjectDocument, { readonly value: Value }>();
  return (project: ProjectDocument): Value => {
    const before = made.get(project) ?? { value: make(project) };
    made.set(project, before);
    return before.value;
  };
}

/** Return the graph of a project. */
export const projectGraph = once<Graph>(graphOf);

const allLabels = once<readonly Label[]>((project) =>
  projectGraph(project).nodes.map((node) => labelOf(project, node)),
);

/** Return every node as a dot. */
export const allAsDots = once<Scene>((project) => {
  const graph = projectGraph(project);
  return dots(allLabels(project), edgesAmong(graph, new Set(graph.nodes)), graph);
});

/** Make all of it while the browser rests, a part at a time; return what ends that. */
export function makeAhead(project: ProjectDocument): () => void {
  if (typeof requestIdleCallback === "undefined") return () => undefined;
  const parts = [projectGraph, allLabels, allAsDots];
  const next = () => {
    parts.shift()?.(project);
    if (parts.length > 0) waiting = requestIdleCallback(next);
  };
  let waiting = requestIdleCallback(next);
  return () => cancelIdleCallback(waiting);
}
