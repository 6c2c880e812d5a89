/** What is true of partitions, looked up in the ranges of a document. */

import type { PartitionRange, PartitionsDocument, ProjectDocument } from "../data/documents";
import type { Interval } from "../grid/blocks";
import { sumByKey } from "../parts/collect";

type Ranges = readonly PartitionRange[];

/** Return the index of the range that holds a partition, -1 if none does. */
export function indexAt(ranges: Ranges, position: number): number {
  const index = firstFrom(ranges, position);
  const found = ranges[index];
  return found !== undefined && found.low <= position ? index : -1;
}

/** Return the index of the first range that ends at a partition or later. */
export function firstFrom(ranges: Ranges, position: number): number {
  let low = 0;
  let high = ranges.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((ranges[middle]?.high ?? 0) < position) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Return intervals in ascending order, neighbours joined. */
export function joined(intervals: readonly Interval[]): Interval[] {
  const result: { low: number; high: number }[] = [];
  for (const { low, high } of [...intervals].sort((a, b) => a.low - b.low)) {
    const last = result.at(-1);
    if (last !== undefined && low <= last.high + 1) last.high = Math.max(last.high, high);
    else result.push({ low, high });
  }
  return result;
}

/** Return the parts of ranges that lie inside an interval. */
export function within(ranges: Ranges, low: number, high: number): PartitionRange[] {
  const parts: PartitionRange[] = [];
  for (let index = firstFrom(ranges, low); index < ranges.length; index += 1) {
    const range = ranges[index];
    if (range === undefined || range.low > high) break;
    parts.push(part(range, Math.max(low, range.low), Math.min(high, range.high)));
  }
  return parts;
}

/** Return each partition of ranges by itself. */
export function singles(ranges: Ranges): PartitionRange[] {
  return ranges.flatMap((range) =>
    Array.from({ length: sizeOf(range) }, (_, n) => part(range, range.low + n, range.low + n)),
  );
}

function part(range: PartitionRange, low: number, high: number): PartitionRange {
  const own = (counts: PartitionRange["rows"]) =>
    counts.length > 1 ? counts.slice(low - range.low, high - range.low + 1) : counts;
  return { ...range, low, high, rows: own(range.rows), bytes: own(range.bytes) };
}

/** Return the state that colours a range: `pending` if only an upstream model drifted. */
export function stateOf(range: PartitionRange, project: ProjectDocument): string {
  if (range.is_pending && !range.is_drifted) return "pending";
  return project.states[range.state] ?? "unreadable";
}

/** Return all states of a range, the main one first. */
export function statesOf(range: PartitionRange, project: ProjectDocument): string[] {
  const names = [range.state, ...range.also].map((each) => project.states[each] ?? "unreadable");
  return range.is_pending ? [...names, "pending"] : names;
}

/** What a marked part of the calendar holds, for its panel. */
export interface Totals {
  readonly partitions: number;
  readonly states: ReadonlyMap<string, number>;
  readonly steps: number;
  readonly rows: number | null;
  readonly bytes: number | null;
}

/** Return what the partitions from `low` to `high` hold. */
export function totals(
  document: PartitionsDocument,
  project: ProjectDocument,
  low: number,
  high: number,
): Totals {
  const parts = within(document.ranges, low, high);
  const built = parts.filter(({ built_by }) => built_by >= 0);
  return {
    partitions: parts.reduce((count, each) => count + sizeOf(each), 0),
    states: sumByKey(parts.map((each) => [stateOf(each, project), sizeOf(each)])),
    steps: new Set(built.map(({ built_by }) => built_by)).size,
    rows: sum(built, "rows"),
    bytes: sum(built, "bytes"),
  };
}

/** Return the number of partitions of an interval. */
export function sizeOf({ low, high }: Interval): number {
  return high - low + 1;
}

/** Return the rows or bytes of ranges, null if nothing or not everything is known. */
function sum(built: Ranges, what: "rows" | "bytes"): number | null {
  let total: number | null = null;
  for (const range of built) {
    const counts = range[what];
    if (counts.length === 0) return null;
    const known = counts.reduce((all, count) => all + count);
    total = (total ?? 0) + (counts.length === 1 ? known * sizeOf(range) : known);
  }
  return total;
}
