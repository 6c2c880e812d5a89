/** What marked partitions read, what reads them, and the command that repairs them. */

import type { PartitionMapping, PartitionsDocument, ProjectDocument } from "../data/documents";
import { modelNamed } from "../data/project";
import type { Interval } from "../grid/blocks";
import { type Grid, gridOf, keyOf, keysOf } from "../grid/grid";
import { joined } from "./ranges";

const PLAIN = /^[\w.,+:/@%=-]+$/;

/** Return the command that rebuilds the partitions from `low` to `high`. */
export function syncCommand(
  model: string,
  grid: Grid,
  { low, high }: Interval,
  flags: string,
): string {
  const name = PLAIN.test(model) ? model : `'${model.replaceAll("'", `'"'"'`)}'`;
  const range = grid.grain !== "whole" && `--from ${keyOf(grid, low)} --to ${keyOf(grid, high)}`;
  return ["penstock sync --select", name, range, flags].filter(Boolean).join(" ");
}

/** Return the partitions of an input that those from `low` to `high` read, neighbours joined. */
export function mappedIntervals(mapping: PartitionMapping, low: number, high: number): Interval[] {
  const found: Interval[] = [];
  for (const range of mapping.ranges) {
    const from = Math.max(low, range.low);
    const to = Math.min(high, range.high);
    if (from > to) continue;
    const first = range.first + (range.moves ? from - range.low : 0);
    const last = range.last + (range.moves ? to - range.low : 0);
    found.push({ low: first, high: last });
  }
  return joined(found);
}

/** Return the partitions that read any of an input's from `low` to `high`, neighbours joined. */
export function readingIntervals(mapping: PartitionMapping, low: number, high: number): Interval[] {
  const found = mapping.ranges.map((range) => {
    if (!range.moves) {
      const isRead = range.first <= high && range.last >= low;
      return isRead ? range : NOTHING;
    }
    // The partition n above `range.low` reads from `range.first + n` to `range.last + n`.
    return {
      low: Math.max(range.low, range.low + low - range.last),
      high: Math.min(range.high, range.low + high - range.first),
    };
  });
  return joined(found.filter((each) => each.low <= each.high));
}

const NOTHING: Interval = { low: 0, high: -1 };

/** A model and those of its partitions that marked ones map to; no intervals for all of it. */
export interface MappedNode {
  readonly node: string;
  readonly intervals: readonly Interval[];
  readonly words: string;
}

/** Return each input with the partitions of it that those from `low` to `high` read. */
export function mappedInputs(
  mappings: readonly PartitionMapping[],
  project: ProjectDocument,
  low: number,
  high: number,
): MappedNode[] {
  return mappings.map((mapping) => {
    const grid = gridOf(modelNamed(project, mapping.node) ?? { grain: "*" });
    return mappedNode(mapping.node, grid, mapping, mappedIntervals(mapping, low, high));
  });
}

/** Return a model that reads a node with its partitions that read those from `low` to `high`. */
export function mappedReader(
  reader: PartitionsDocument,
  node: string,
  low: number,
  high: number,
): MappedNode {
  const mapping = reader.mappings.find((each) => each.node === node);
  const intervals = mapping ? readingIntervals(mapping, low, high) : [];
  return mappedNode(reader.name, gridOf(reader), mapping, intervals);
}

function mappedNode(
  node: string,
  grid: Grid,
  mapping: PartitionMapping | undefined,
  intervals: readonly Interval[],
): MappedNode {
  const isAll = grid.grain === "whole" || mapping?.ranges.length === 0;
  if (isAll || !mapping) return { node, intervals: [], words: isAll ? "all of it" : "not known" };
  const keys = intervals.map(({ low, high }) => keysOf(grid, low, high));
  return { node, intervals, words: keys.join(", ") || "none" };
}
