/** Columns that a column is made of, and columns that are made of it. */

import type { ColumnRow } from "../data/documents";
import type { Edges } from "./graph";

export type Columns = (node: string) => Promise<readonly ColumnRow[] | null>;

export interface Trace {
  /** Columns by node, the chosen one too. */
  readonly columns: ReadonlyMap<string, ReadonlySet<string>>;
  /** Nodes of which it is not known what their columns are made of. */
  readonly unknown: ReadonlySet<string>;
  /** There were too many nodes to follow all of them. */
  readonly isCut: boolean;
}

interface Place {
  readonly node: string;
  readonly column: string;
}

/** Return the way of a column up to its origins and down to what is made of it. */
export async function traceColumn(
  start: Place,
  children: Edges,
  columns: Columns,
  most = 500,
): Promise<Trace> {
  const found = new Map<string, Set<string>>();
  const unknown = new Set<string>();
  const reached = { isCut: false };
  const loaded = new Map<string, Promise<readonly ColumnRow[] | null>>();
  const load = (node: string) => {
    const before = loaded.get(node);
    if (before !== undefined) return before;
    if (loaded.size >= most) {
      reached.isCut = true;
      return Promise.resolve(null);
    }
    const now = columns(node);
    loaded.set(node, now);
    return now;
  };
  const up = async ({ node, column }: Place) => originsOf(await load(node), node, column, unknown);
  const down = async (place: Place) => {
    const lists = (children.get(place.node) ?? []).map(async (child) =>
      madeOf(await load(child), child, place, unknown),
    );
    return (await Promise.all(lists)).flat();
  };
  await walk(start, up, found);
  await walk(start, down, found);
  return { columns: found, unknown, isCut: reached.isCut };
}

async function walk(
  start: Place,
  next: (place: Place) => Promise<readonly Place[]>,
  found: Map<string, Set<string>>,
): Promise<void> {
  const seen = new Set<string>();
  let front: Place[] = [start];
  while (front.length > 0) {
    const fresh: Place[] = [];
    for (const place of front) {
      const name = `${place.node}\n${place.column.toLowerCase()}`;
      if (seen.has(name)) continue;
      seen.add(name);
      fresh.push(place);
      const own = found.get(place.node);
      if (own === undefined) found.set(place.node, new Set([place.column]));
      else own.add(place.column);
    }
    front = (await Promise.all(fresh.map(next))).flat();
  }
}

function originsOf(
  rows: readonly ColumnRow[] | null,
  node: string,
  column: string,
  unknown: Set<string>,
): readonly Place[] {
  const row = rows?.find(({ name }) => isSame(name, column));
  if (!row?.origins && !node.startsWith("source:")) unknown.add(node);
  return row?.origins ?? [];
}

function madeOf(
  rows: readonly ColumnRow[] | null,
  node: string,
  place: Place,
  unknown: Set<string>,
): Place[] {
  const found: Place[] = [];
  for (const { name, origins } of rows ?? []) {
    if (origins === null) unknown.add(node);
    else if (origins.some((o) => o.node === place.node && isSame(o.column, place.column))) {
      found.push({ node, column: name });
    }
  }
  return found;
}

function isSame(a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase();
}
