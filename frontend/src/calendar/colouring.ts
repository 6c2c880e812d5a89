/** Ways to colour the squares of a calendar. */

import type {
  BuiltBy,
  CodeText,
  PartitionRange,
  PartitionsDocument,
  ProjectDocument,
} from "../data/documents";
import { sumByKey } from "../parts/collect";
import { bytes, number, seconds } from "../parts/numbers";
import { stateLook, urgency } from "../parts/states";
import { secondsBetween } from "../parts/times";
import { singles, sizeOf, stateOf } from "./ranges";

export type Way = "state" | "version" | "code" | "age" | "rows" | "bytes" | "seconds";

export interface LegendEntry {
  readonly label: string;
  /** The name of a CSS variable. */
  readonly colour: string;
  readonly sign: string;
  readonly count: number;
}

/** `entryOf[n]` is the legend's entry of the nth range. */
export interface Colouring {
  readonly ranges: readonly PartitionRange[];
  readonly entries: readonly LegendEntry[];
  readonly entryOf: readonly number[];
}

interface Labelled {
  readonly value: number;
  readonly label: string;
}

const STEPS = 5;
const UNKNOWN = "--state-not_effective";

export interface Coloured {
  readonly document: PartitionsDocument;
  readonly project: ProjectDocument;
  readonly codes: readonly CodeText[];
}

/** Return the ways that tell something of a model. */
export function waysOf({ document }: Coloured): Way[] {
  const isBuilt = document.steps.length > 0;
  const ways: [Way, boolean][] = [
    ["state", true],
    ["version", document.ranges.some(({ version }) => version !== null)],
    ["code", document.steps.some(({ code }) => code !== "")],
    ["age", isBuilt],
    ["rows", document.ranges.some(({ rows }) => rows.length > 0)],
    ["bytes", document.ranges.some(({ bytes }) => bytes.length > 0)],
    ["seconds", isBuilt],
  ];
  return ways.filter(([, isTelling]) => isTelling).map(([way]) => way);
}

/** Return the colour of each range and the legend. */
export function colouring(coloured: Coloured, way: Way): Colouring {
  const { document, project } = coloured;
  if (way === "state") return byState(document, project);
  const isSplit = way === "rows" || way === "bytes";
  const ranges = isSplit ? singles(document.ranges) : document.ranges;
  return byValue(
    ranges,
    ranges.map((range) => labelled(coloured, way, range, document.steps[range.built_by])),
  );
}

function byState(document: PartitionsDocument, project: ProjectDocument): Colouring {
  const names = document.ranges.map((range) => stateOf(range, project));
  const order = [...new Set(names)].sort((a, b) => urgency(a) - urgency(b));
  const place = new Map(order.map((name, index) => [name, index]));
  const entryOf = names.map((name) => place.get(name) ?? 0);
  const counts = countsOf(document.ranges, entryOf);
  const entries = order.map((name, index) => {
    const { words, sign, colour } = stateLook(name);
    return { label: words, colour, sign, count: counts(index) };
  });
  return { ranges: document.ranges, entries, entryOf };
}

function labelled(
  { project, codes }: Coloured,
  way: Way,
  range: PartitionRange,
  step: BuiltBy | undefined,
): Labelled | null {
  if (way === "version") return ofVersion(range);
  if (step === undefined) return null;
  switch (way) {
    case "code": {
      const index = codes.findIndex(({ id }) => id === step.code);
      if (step.code === "") return null;
      return { value: index, label: codes[index]?.label || step.code.slice(0, 8) };
    }
    case "age": {
      const age = secondsBetween(step.at, project.made_at);
      return age === null ? null : { value: age, label: seconds(age) };
    }
    case "rows":
    case "bytes": {
      const [count] = range[way];
      const words = way === "rows" ? number : bytes;
      return count === undefined ? null : { value: count, label: words(count) };
    }
    default:
      return { value: step.seconds, label: seconds(step.seconds) };
  }
}

function ofVersion({ version, revision }: PartitionRange): Labelled | null {
  if (version === null) return null;
  const label = revision === null ? `v${version}` : `v${version} revision ${revision}`;
  return { value: version * 1e6 + (revision ?? 0), label };
}

/** Give each value one of five steps of one hue; more values share the steps in equal parts. */
function byValue(
  ranges: readonly PartitionRange[],
  values: readonly (Labelled | null)[],
): Colouring {
  const labels = new Map<number, string>();
  for (const each of values) if (each !== null) labels.set(each.value, each.label);
  const sorted = [...labels.keys()].sort((a, b) => a - b);
  const steps = Math.min(STEPS, sorted.length);
  const stepOf = new Map(sorted.map((v, rank) => [v, Math.floor((rank * steps) / sorted.length)]));
  const entryOf = values.map((each) => (each === null ? steps : (stepOf.get(each.value) ?? 0)));
  const counts = countsOf(ranges, entryOf);
  const entries = Array.from({ length: steps }, (_, step) => {
    const own = sorted.filter((value) => stepOf.get(value) === step);
    const ends = [own[0], own.at(-1)].map((value) => labels.get(value ?? 0) ?? "");
    const label = ends[0] === ends[1] ? ends[0] : ends.join(" to ");
    const shade = steps === 1 ? STEPS : 1 + Math.round((step * (STEPS - 1)) / (steps - 1));
    return { label: label ?? "", colour: `--ramp-${shade}`, sign: "", count: counts(step) };
  });
  const unknown = { label: "not known", colour: UNKNOWN, sign: "", count: counts(steps) };
  return { ranges, entries: unknown.count > 0 ? [...entries, unknown] : entries, entryOf };
}

/** Return how many partitions have each entry of the legend. */
function countsOf(ranges: readonly PartitionRange[], entryOf: readonly number[]) {
  const counts = sumByKey(ranges.map((range, n) => [entryOf[n], sizeOf(range)]));
  return (entry: number) => counts.get(entry) ?? 0;
}
