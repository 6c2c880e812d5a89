import type { PartitionsDocument, ProjectDocument } from "../data/documents";
import { gridOf, nameOf } from "../grid/grid";
import { bytes, counted } from "../parts/numbers";
import { stateLook } from "../parts/states";
import { absolute } from "../parts/times";
import { statesOf, within } from "./ranges";

/** Return one line about a partition: states with reasons, version, rows, when, by which run. */
export function sentenceOf(
  partitions: PartitionsDocument,
  project: ProjectDocument,
  position: number,
  zone?: string,
): string {
  const [range] = within(partitions.ranges, position, position);
  if (range === undefined) return "";
  const [rows] = range.rows;
  const [size] = range.bytes;
  const states = statesOf(range, project).map((each) => stateLook(each).words);
  const because = range.because.length > 0 ? ` (${range.because.join("; ")})` : "";
  const step = partitions.steps[range.built_by];
  const parts = [
    `${nameOf(gridOf(partitions), position)}: ${states.join(", ")}${because}`,
    range.version === null ? "" : versionWords(range.version, range.revision),
    rows === undefined ? "" : counted(rows, "row"),
    size === undefined ? "" : bytes(size),
    step ? `built ${absolute(step.at, zone)} by ${step.run}` : "",
  ];
  return parts.filter((part) => part !== "").join(" · ");
}

/** Return a version and revision in words. */
export function versionWords(version: number, revision: number | null): string {
  return revision === null ? `version ${version}` : `version ${version}, revision ${revision}`;
}
