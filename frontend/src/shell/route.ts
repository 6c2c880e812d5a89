/** A page by its address: the part of the address after `#`. `name` is a model or a run. */
export interface Route {
  readonly page:
    | "overview"
    | "models"
    | "model"
    | "lineage"
    | "runs"
    | "run"
    | "sources"
    | "unknown";
  readonly name: string;
  readonly query: URLSearchParams;
}

const PAGES: Readonly<Record<string, Route["page"]>> = {
  "": "overview",
  models: "models",
  lineage: "lineage",
  runs: "runs",
  sources: "sources",
};
const PAGES_OF_ONE: Readonly<Record<string, Route["page"]>> = { model: "model", run: "run" };

/** Read an address such as `#/model/marts.orders?tab=calendar`. */
export function readRoute(hash: string): Route {
  const [path = "", ...rest] = hash.replace(/^#?\/?/, "").split("?");
  const query = new URLSearchParams(rest.join("?"));
  const [first = "", ...names] = path.split("/");
  const name = decoded(names.join("/"));
  const page = (name ? PAGES_OF_ONE : PAGES)[first];
  if (!page || name === null) return { page: "unknown", name: hash, query };
  return { page, name, query };
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

/** Values of an address; null and "" are left out. */
export type Values = Readonly<Record<string, string | null>>;

/** Return the address of a page: `address("model", "marts.orders", { tab: "calendar" })`. */
export function address(page: Route["page"], name = "", values: Values = {}): string {
  const path = page === "overview" ? "" : page;
  return `#/${name ? `${path}/${encodeURIComponent(name)}` : path}${queryText(values)}`;
}

/** Return the address of the same page with other values; null removes one. */
export function changed(route: Route, changes: Values): string {
  const values = { ...Object.fromEntries(route.query), ...changes };
  return route.page === "unknown" ? route.name : address(route.page, route.name, values);
}

function queryText(values: Values): string {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(values)) if (value) query.set(key, value);
  const text = query.toString();
  return text ? `?${text}` : "";
}

const TITLES: Readonly<Record<Route["page"], string>> = {
  overview: "Overview",
  models: "Models",
  model: "Model",
  lineage: "Lineage",
  runs: "Runs",
  run: "Run",
  sources: "Sources and seeds",
  unknown: "Unknown page",
};

/** Return the title of a page, most specific part first. */
export function title(route: Route, project: string): string {
  const isOne = route.page === "model" || route.page === "run";
  const page = route.page === "run" ? `Run ${route.name}` : isOne ? route.name : TITLES[route.page];
  return [page, project, "penstock"].filter(Boolean).join(" · ");
}
