import { sumByKey } from "../parts/collect";
import { stateLook, urgency } from "../parts/states";
import { address } from "../shell/route";
import type { ModelRow, ProjectDocument, SourceRow } from "./documents";

interface Index {
  readonly models: ReadonlyMap<string, ModelRow>;
  readonly sources: ReadonlyMap<string, SourceRow>;
}

const INDICES = new WeakMap<ProjectDocument, Index>();

function index(project: ProjectDocument): Index {
  const before = INDICES.get(project);
  if (before) return before;
  const made = {
    models: new Map(project.models.map((each) => [each.name, each])),
    sources: new Map(project.sources.map((each) => [each.node, each])),
  };
  INDICES.set(project, made);
  return made;
}

/** Return the model of this name. */
export function modelNamed(project: ProjectDocument, name: string): ModelRow | undefined {
  return index(project).models.get(name);
}

/** Return the source or seed of this node. */
export function sourceNamed(project: ProjectDocument, node: string): SourceRow | undefined {
  return index(project).sources.get(node);
}

/** Return the address of a node's page, "" for nodes that are not of this project. */
export function nodeAddress(project: ProjectDocument, node: string): string {
  if (modelNamed(project, node)) return address("model", node);
  return sourceNamed(project, node) ? address("sources", "", { node }) : "";
}

/** Return a model's number of partitions by state, most urgent first; pending ones by themselves. */
export function stateCounts(
  project: ProjectDocument,
  model: ModelRow,
): readonly (readonly [string, number])[] {
  const counts = model.states.map(({ state, count, is_pending, is_drifted }) => {
    const name = is_pending && !is_drifted ? "pending" : (project.states[state] ?? "");
    return [name, count] as const;
  });
  return byUrgency(sumByKey(counts));
}

function byUrgency(counts: ReadonlyMap<string, number>): readonly (readonly [string, number])[] {
  return [...counts].sort(([a], [b]) => urgency(a) - urgency(b));
}

/** Return the most urgent state of a model's partitions. */
export function modelState(project: ProjectDocument, model: ModelRow): string {
  return stateCounts(project, model)[0]?.[0] ?? "not_effective";
}

/** Return the number of models by their most urgent state. */
export function modelsByState(project: ProjectDocument): readonly (readonly [string, number])[] {
  return byUrgency(sumByKey(project.models.map((model) => [modelState(project, model), 1])));
}

/** Return a model's states in words: "3 code changed, 28 current". */
export function statesText(project: ProjectDocument, model: ModelRow): string {
  return stateCounts(project, model)
    .map(([state, count]) => `${count} ${stateLook(state).words}`)
    .join(", ");
}
