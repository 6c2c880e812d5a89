import type { ModelRow, ProjectDocument } from "../data/documents";
import { modelState } from "../data/project";
import { urgency } from "../parts/states";

/** The filters that an address can hold beside the typed text. */
export const FILTERS = ["state", "kind", "schema", "tag"] as const;
export type Filter = (typeof FILTERS)[number];

/** Return the values that a model has for a filter. */
function valuesOf(project: ProjectDocument, model: ModelRow, filter: Filter): readonly string[] {
  if (filter === "tag") return model.tags;
  return [filter === "state" ? modelState(project, model) : model[filter]];
}

/** Return the values that a filter can take: states by urgency, others by name. */
export function choices(project: ProjectDocument, filter: Filter): readonly string[] {
  const all = new Set(project.models.flatMap((model) => valuesOf(project, model, filter)));
  const values = [...all].filter(Boolean).sort();
  return filter === "state" ? values.sort((a, b) => urgency(a) - urgency(b)) : values;
}

/** Return the models for which all filters of an address hold, and all typed words, by name. */
export function filterModels(
  project: ProjectDocument,
  query: URLSearchParams,
): readonly ModelRow[] {
  const words = (query.get("find") ?? "").toLowerCase().split(/\s+/).filter(Boolean);
  const wanted = FILTERS.flatMap((filter) => {
    const value = query.get(filter);
    return value ? [[filter, value] as const] : [];
  });
  const found = project.models.filter((model) => {
    const text = `${model.name} ${model.owner} ${model.tags.join(" ")}`.toLowerCase();
    return (
      words.every((word) => text.includes(word)) &&
      wanted.every(([filter, value]) => valuesOf(project, model, filter).includes(value))
    );
  });
  return found.sort((a, b) => (a.name < b.name ? -1 : 1));
}
