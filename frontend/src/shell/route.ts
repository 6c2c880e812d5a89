const TITLES = {
  overview: "Overview",
  models: "Models",
  model: "Model",
  lineage: "Lineage",
  runs: "Runs",
  run: "Run",
  sources: "Sources and seeds",
  unknown: "Unknown page",
};
const PAGES_OF_ONE: ReadonlySet<string> = new Set(["model", "run"]);

/** A page by its address: the part of the address after `#`. `name` is a model or a run. */
export interface Route {
  readonly page: keyof typeof TITLES;
  readonly name: string;
  readonly query: URLSearchParams;
}

/** Read an address such as `#/model/marts.orders?tab=calendar`. */
export function readRoute(hash: string): Route {
  const [path = "", ...rest] = hash.replace(/^#?\/?/, "").split("?");
  const query = new URLSearchParams(rest.join("?"));
  const [first = "", ...names] = path.split("/");
  const name = decoded(names.join("/"));
  const page = first || "overview";
  const isNamed = name !== "";
  if (name === null || !isPage(page) || isNamed !== PAGES_OF_ONE.has(page)) {
    return { page: "unknown", name: hash, query };
  }
  return { page, name, query };
}

function isPage(text: string): text is Route["page"] {
  return Object.hasOwn(TITLES, text);
}

/** Return a part of an address as text, null if it is malformed. */
export function decoded(text: string): string | null {
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

/** Return the title of a page, most specific part first. */
export function title(route: Route, project: string): string {
  const titles = { ...TITLES, model: route.name, run: `Run ${route.name}` };
  return [titles[route.page], project, "penstock"].filter(Boolean).join(" · ");
}
