/** The grammar of `--select`, as far as a page knows what it asks about. */

import type { ModelRow, ProjectDocument } from "../data/documents";
import { type Graph, reach } from "./graph";
import { didYouMean, quoted, someOf } from "./near";

export class SelectionError extends Error {
  constructor(
    sentence: string,
    readonly hint = "",
  ) {
    super(sentence);
  }
}

/** `up` and `down` are numbers of levels: null is none, infinity all. */
interface Term {
  readonly text: string;
  readonly method: string;
  readonly value: string;
  readonly up: number | null;
  readonly down: number | null;
  readonly isWholeBuild: boolean;
}

const TERM = /^(@)?(?:(\d{0,9})\+)?(?:([A-Za-z_][\w.]*):)?([^+@][^+]*?)(?:\+(\d{0,9}))?$/;
const EXAMPLES = "for example name, +name, name+1, @name, tag:daily, path:models/staging";
const OF_ENTITIES = ["entity", "group", "connection", "connectiongroup"];
const OF_MODELS = ["name", "fqn", "path", "source", "tag", "kind", "strategy", "state"];
const METHODS = [...OF_MODELS, "result", ...OF_ENTITIES];
const NOT_IN_THE_SITE = new Set(["result", ...OF_ENTITIES]);
const OF_CODE = new Set(["modified", "new"]);
const THEIRS: Readonly<Record<string, string>> = {
  resource_type: "kind",
  file: "path",
  package: "path",
};

/** The models of a selection, and with them the sources and seeds that it reaches. */
export interface Selection {
  readonly models: ReadonlySet<string>;
  readonly nodes: ReadonlySet<string>;
}

/** Return what a selection selects; throw `SelectionError` if it is unreadable or matches nothing. */
export function select(project: ProjectDocument, graph: Graph, value: string): Selection {
  const models = new Set(project.models.map(({ name }) => name));
  const nodes = new Set<string>();
  for (const terms of parseTerms(value)) {
    const found = terms.map((term) => withNeighbours(project, graph, term));
    const both = intersection(found);
    if (!both.some((node) => models.has(node))) {
      const shown = terms.map(({ text }) => text).join(",");
      throw new SelectionError(`no model matches all of ${quoted(shown)}`);
    }
    for (const node of both) nodes.add(node);
  }
  return { models: new Set([...nodes].filter((node) => models.has(node))), nodes };
}

function intersection([first, ...others]: readonly Set<string>[]): string[] {
  return [...(first ?? [])].filter((node) => others.every((each) => each.has(node)));
}

function parseTerms(value: string): Term[][] {
  const groups = value.split(/\s+/).filter((group) => group !== "");
  if (groups.length === 0) throw new SelectionError("the selector is empty", "--select NAME");
  return groups.map((group) => group.split(",").map(parseTerm));
}

function parseTerm(text: string): Term {
  const match = TERM.exec(text);
  if (match === null || (match[1] !== undefined && match[2] !== undefined)) {
    throw new SelectionError(`${quoted(text)} is not a selector`, EXAMPLES);
  }
  const [, at, up, method = "", value = "", down] = match;
  return {
    text,
    method,
    value,
    up: levels(up),
    down: levels(down),
    isWholeBuild: at !== undefined,
  };
}

function levels(text: string | undefined): number | null {
  if (text === undefined) return null;
  return text === "" ? Number.POSITIVE_INFINITY : Number(text);
}

function withNeighbours(project: ProjectDocument, graph: Graph, term: Term): Set<string> {
  const start = modelsOfTerm(project, term);
  const nodes = new Set(start);
  const add = (more: Iterable<string>) => {
    for (const each of more) nodes.add(each);
  };
  if (term.method === "source" && term.down !== null) add(sourcesOf(project, term));
  if (term.up !== null) add(reach(start, graph.parents, term.up));
  if (term.down !== null) {
    // A source is one arrow above the models that read it.
    const above = term.method === "source" ? 1 : 0;
    add(reach(start, graph.children, Math.max(0, term.down - above)));
  }
  if (term.isWholeBuild) add(reach(reach(start, graph.children, null), graph.parents, null));
  return nodes;
}

function modelsOfTerm(project: ProjectDocument, term: Term): string[] {
  const { models } = project;
  const { method, value } = term;
  const isPlain = method === "" || method === "fqn";
  if (method === "path" || (isPlain && value.includes("/"))) return byPath(models, term);
  if (method === "name" || isPlain) {
    const isMeant = (m: ModelRow) => isNamed(m, value, project.project) || m.package === value;
    const found = models.filter((m) => (isPlain ? isMeant(m) : matches(m.name, value)));
    return namesOf(found) ?? nothing(term, "model", namesOf(models) ?? []);
  }
  switch (method) {
    case "source":
      return bySource(project, term);
    case "tag":
      return among(term, models, ({ tags }) => tags);
    case "kind":
      return among(term, models, ({ kind }) => (kind === "versioned" ? ["sql"] : [kind]));
    case "strategy":
      return among(term, models, ({ strategy }) => [strategy]);
    case "state":
      return byState(project, term);
    default:
      throw unknownMethod(term);
  }
}

function namesOf(models: readonly ModelRow[]): string[] | null {
  return models.length === 0 ? null : models.map(({ name }) => name);
}

function unknownMethod({ method, text }: Term): SelectionError {
  if (NOT_IN_THE_SITE.has(method) || method.startsWith("config.")) return notInTheSite(text);
  const similar = didYouMean(THEIRS[method] ?? method, METHODS);
  const hint = similar || `methods: ${someOf(METHODS)}`;
  return new SelectionError(`${quoted(method)} is not a selector method`, hint);
}

function notInTheSite(text: string): SelectionError {
  const hint = `on the command line: penstock list --select ${quoted(text)}`;
  return new SelectionError(`${quoted(text)} needs data that this site does not hold`, hint);
}

function isNamed(model: ModelRow, wanted: string, project: string): boolean {
  const parts = model.file.split("/");
  const file = (parts.at(-1) ?? "").replace(/\.sql$/, "");
  if ([model.name, file, model.table].some((name) => matches(name, wanted))) return true;
  const full = [...parts.slice(1, -1), model.name];
  const pattern = wanted.split(".");
  return starts(full, pattern) || starts([project, ...full], pattern);
}

function starts(full: readonly string[], pattern: readonly string[]): boolean {
  if (pattern.length > full.length) return false;
  return pattern.every((part, index) => matches(full[index] ?? "", part));
}

function byPath(models: readonly ModelRow[], term: Term): string[] {
  const wanted = term.value.replace(/^\.\//, "").replace(/\/+$/, "");
  const pattern = globPattern(wanted);
  const found = models.filter(({ file }) => file.startsWith(`${wanted}/`) || pattern.test(file));
  const folders = models.map(({ file }) => file.split("/").slice(0, -1).join("/") || ".");
  return namesOf(found) ?? nothing(term, "model file", folders);
}

function sourcesOf(project: ProjectDocument, { value }: Term): string[] {
  const sources = project.sources.filter(({ node }) => node.startsWith("source:"));
  return sources
    .map(({ node }) => node)
    .filter((node) => {
      const name = node.slice("source:".length);
      return matches(name, value) || matches(name, `${value}.*`);
    });
}

function bySource(project: ProjectDocument, term: Term): string[] {
  const wanted = new Set(sourcesOf(project, term));
  if (wanted.size === 0) {
    const known = project.sources.filter(({ node }) => node.startsWith("source:"));
    return nothing(
      term,
      "source",
      known.map(({ node }) => node.slice("source:".length)),
    );
  }
  const found = project.models.filter(({ reads }) => reads.some((each) => wanted.has(each)));
  const names = namesOf(found);
  if (names !== null) return names;
  throw new SelectionError(`no model reads the source ${quoted(term.value)}`);
}

function byState(project: ProjectDocument, term: Term): string[] {
  if (OF_CODE.has(term.value)) throw notInTheSite(term.text);
  const wordsOf = ({ states }: ModelRow) => states.map(({ state }) => project.states[state] ?? "");
  if (term.value !== "drifted") return among(term, project.models, wordsOf);
  const isDrifted = ({ states }: ModelRow) => states.some((s) => s.is_drifted || s.is_pending);
  const names = namesOf(project.models.filter(isDrifted));
  if (names !== null) return names;
  throw new SelectionError("no model has drifted");
}

function among(
  { method, value }: Term,
  models: readonly ModelRow[],
  wordsOf: (model: ModelRow) => readonly string[],
): string[] {
  const found = models.filter((model) => wordsOf(model).some((word) => matches(word, value)));
  const names = namesOf(found);
  if (names !== null) return names;
  const existing = new Set(models.flatMap(wordsOf));
  const there = existing.size > 0 ? `there are: ${someOf(existing)}` : "no model has any";
  const sentence = `no model has ${method} ${quoted(value)}; ${there}`;
  throw new SelectionError(sentence, didYouMean(value, existing) || "penstock list");
}

function nothing({ text, value }: Term, what: string, candidates: readonly string[]): never {
  const hint = didYouMean(value, candidates) || `there are: ${someOf(candidates)}`;
  throw new SelectionError(`${quoted(text)} matches no ${what}`, hint);
}

function matches(name: string, pattern: string): boolean {
  return globPattern(pattern.toLowerCase()).test(name.toLowerCase());
}

const PATTERNS = new Map<string, RegExp>();

/** Return the expression of a pattern with `*`, `?`, `[abc]` and `[!abc]`. */
function globPattern(pattern: string): RegExp {
  const before = PATTERNS.get(pattern);
  if (before !== undefined) return before;
  const text = pattern.replace(/\*+|\?|\[!?\]?[^\]]*\]|[\s\S]/g, (part) => {
    if (part.startsWith("*")) return "[\\s\\S]*";
    if (part === "?") return "[\\s\\S]";
    if (part.length > 1 && part.startsWith("[")) return setPattern(part.slice(1, -1));
    return part.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");
  });
  const expression = new RegExp(`^(?:${text})$`);
  PATTERNS.set(pattern, expression);
  return expression;
}

function setPattern(inside: string): string {
  const isNegated = inside.startsWith("!");
  const letters = (isNegated ? inside.slice(1) : inside).replace(/[\\^\][]/g, "\\$&");
  return `[${isNegated ? "^" : ""}${letters}]`;
}
