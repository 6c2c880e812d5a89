/** What marked partitions read of inputs, and the command that repairs them. */

import type { PartitionMapping, ProjectDocument } from "../data/documents";
import type { Interval } from "../grid/blocks";
import { type Grid, gridOf, keyOf, keysOf } from "../grid/grid";
import { joined } from "./ranges";

const PLAIN = /^[\w.,+:/@%=-]+$/;

/** Return the command that rebuilds the partitions from `low` to `high`. */
export function syncCommand(model: string, grid: Grid, low: number, high: number): string {
  const name = PLAIN.test(model) ? model : `'${model.replaceAll("'", `'"'"'`)}'`;
  const select = `penstock sync --select ${name}`;
  if (grid.grain === "whole") return select;
  return `${select} --from ${keyOf(grid, low)} --to ${keyOf(grid, high)}`;
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

export interface MappedInput {
  readonly node: string;
  readonly partitions: string;
}

/** Return each input with the partitions of it that those from `low` to `high` read. */
export function mappedInputs(
  mappings: readonly PartitionMapping[],
  project: ProjectDocument,
  low: number,
  high: number,
): MappedInput[] {
  const grains = new Map(project.models.map((model) => [model.name, model.grain]));
  return mappings.map((mapping) => {
    if (mapping.ranges.length === 0) return { node: mapping.node, partitions: "all of it" };
    const grain = grains.get(mapping.node) ?? "whole";
    const texts = mappedIntervals(mapping, low, high).map((each) => inputKeys(grain, each));
    return { node: mapping.node, partitions: texts.join(", ") || "none" };
  });
}

/** The bounds of an input's integer ranges are not in the document, so these are counted. */
function inputKeys(grain: string, { low, high }: Interval): string {
  if (grain === "whole") return "all of it";
  if (grain !== "range") return keysOf(gridOf({ grain }), low, high);
  return low === high ? `range number ${low + 1}` : `range numbers ${low + 1} to ${high + 1}`;
}
