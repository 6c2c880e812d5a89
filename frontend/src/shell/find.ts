import MiniSearch from "minisearch";
import type { FoundText, ProjectDocument } from "../data/documents";
import { modelNamed, nodeAddress } from "../data/project";
import { address } from "./route";

/** One answer of the search; `pieces` alternate between plain text and what was searched for. */
export interface Answer {
  readonly found: FoundText;
  readonly href: string;
  readonly pieces: readonly string[];
}

export type SearchIndex = Pick<MiniSearch, "search">;

const WEIGHTS: Readonly<Record<string, number>> = {
  model: 4,
  source: 4,
  column: 2,
  tag: 2,
  description: 1,
  code: 0.5,
};
const MOST_ANSWERS = 40;

/** Index texts without stopping the page for long. */
export async function indexTexts(texts: readonly FoundText[]): Promise<SearchIndex> {
  const index = new MiniSearch({ fields: ["name", "text"] });
  const documents = texts.map(({ name, text }, id) => ({ id, name, text }));
  await index.addAllAsync(documents, { chunkSize: 200 });
  return index;
}

/** Return the best answers: all words must be found, the last may be only begun. */
export function findTexts(
  index: SearchIndex,
  texts: readonly FoundText[],
  wanted: string,
  project: ProjectDocument,
): readonly Answer[] {
  const results = index.search(wanted, {
    prefix: true,
    fuzzy: (term) => (term.length > 4 ? 0.2 : false),
    combineWith: "AND",
    boost: { name: 3 },
    boostDocument: (id) => WEIGHTS[texts[id as number]?.part ?? ""] ?? 1,
  });
  return results.slice(0, MOST_ANSWERS).flatMap(({ id, terms }) => {
    const found = texts[id as number];
    return found ? [answer(found, terms, project)] : [];
  });
}

/** Return models and sources whose names hold the words, until the index is there. */
export function findNames(project: ProjectDocument, wanted: string): readonly Answer[] {
  const words = wanted.toLowerCase().split(/\s+/).filter(Boolean);
  const names = [
    ...project.models.map((each) => ["model", each.name] as const),
    ...project.sources.map((each) => ["source", each.node] as const),
  ];
  return names
    .filter(([, name]) => words.every((word) => name.toLowerCase().includes(word)))
    .slice(0, MOST_ANSWERS)
    .map(([part, name]) => answer({ node: name, part, name, text: "" }, words, project));
}

function answer(found: FoundText, terms: readonly string[], project: ProjectDocument): Answer {
  return { found, href: answerAddress(found, project), pieces: snippet(found.text, terms) };
}

function answerAddress({ node, part, name }: FoundText, project: ProjectDocument): string {
  if (part === "tag") return address("models", "", { tag: name });
  if (!modelNamed(project, node)) return nodeAddress(project, node);
  const tab = part === "column" ? "columns" : part === "code" ? "code" : null;
  return address("model", node, { tab });
}

const BEFORE = 30;
const LENGTH = 140;

/** Return a part of a text around the first term, cut into plain and searched pieces. */
export function snippet(text: string, terms: readonly string[]): readonly string[] {
  const line = text.replace(/\s+/g, " ");
  const places = terms.map((term) => line.toLowerCase().indexOf(term)).filter((at) => at >= 0);
  const start = Math.max(0, Math.min(...places, line.length) - BEFORE);
  const from = places.length ? start : 0;
  const cut = line.slice(from, from + LENGTH);
  const shown = `${from > 0 ? "…" : ""}${cut}${from + LENGTH < line.length ? "…" : ""}`;
  const known = terms.filter(Boolean).map((term) => term.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return known.length ? shown.split(new RegExp(`(${known.join("|")})`, "i")) : [shown];
}
