/** Where the steps of a run stand on a time axis, in seconds since the run began. */

import type { ProjectDocument, RunDocument, StepRow } from "../data/documents";
import { listByKey } from "../parts/collect";
import { seconds } from "../parts/numbers";
import { secondsBetween } from "../parts/times";

export interface PlacedStep {
  readonly step: StepRow;
  readonly from: number;
  readonly to: number;
  readonly lane: number;
  /** When its last upstream step of the run had ended; 0 without one. */
  readonly ready: number;
  /** Where its waiting is drawn from: `ready`, or the end of the step before it in its lane. */
  readonly waitFrom: number;
}

export interface Timeline {
  readonly placed: readonly PlacedStep[];
  readonly lanes: number;
  readonly length: number;
  /** Steps that never began. */
  readonly unplaced: readonly StepRow[];
}

interface Span {
  readonly step: StepRow;
  readonly from: number;
  readonly to: number;
}

/** Return the steps of a run in the order of their beginnings, in lanes without overlaps. */
export function timelineOf(run: RunDocument, project: ProjectDocument): Timeline {
  const spans = spansOf(run, project.made_at);
  const ready = readyTimes(spans, project);
  const lanes = pack(spans);
  const laneEnds: number[] = [];
  const placed = spans.map((span, index): PlacedStep => {
    const lane = lanes[index] ?? 0;
    const readyAt = ready[index] ?? 0;
    const waitFrom = Math.max(readyAt, laneEnds[lane] ?? 0);
    laneEnds[lane] = span.to;
    return { ...span, lane, ready: readyAt, waitFrom };
  });
  const ended = secondsBetween(run.started, run.ended) ?? 0;
  const length = Math.max(1, ended, ...laneEnds);
  const unplaced = run.steps.filter(({ started }) => started === "");
  return { placed, lanes: laneEnds.length, length, unplaced };
}

/** A step that has not ended reaches to the run's end, or to the time of the site. */
function spansOf(run: RunDocument, madeAt: string): Span[] {
  const spans = run.steps.flatMap((step) => {
    const from = secondsBetween(run.started, step.started);
    const to = secondsBetween(run.started, step.ended || run.ended || madeAt);
    if (from === null || to === null) return [];
    return [{ step, from: Math.max(0, from), to: Math.max(0, from, to) }];
  });
  return spans.sort((a, b) => a.from - b.from);
}

/** Steps that took no time would stand on top of each other. */
const LEAST = 0.001;

/** Return the lane of each span, which begin in ascending order: the first that is free. */
export function pack(spans: readonly { from: number; to: number }[]): number[] {
  const ends: number[] = [];
  return spans.map(({ from, to }) => {
    const free = ends.findIndex((end) => end <= from);
    const lane = free < 0 ? ends.length : free;
    ends[lane] = Math.max(to, from + LEAST);
    return lane;
  });
}

function readyTimes(spans: readonly Span[], project: ProjectDocument): number[] {
  const reads = new Map(project.models.map((model) => [model.name, model.reads]));
  const ends = listByKey(spans.map(({ step, to }) => [step.model, to]));
  return spans.map(({ step, from }) => {
    let ready = 0;
    for (const input of reads.get(step.model) ?? []) {
      for (const end of ends.get(input) ?? []) if (end <= from && end > ready) ready = end;
    }
    return ready;
  });
}

const TICKS = [
  0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21_600, 43_200,
  86_400,
];

/** Return at most `most` and one more round times from 0 to the length of a run. */
export function ticks(length: number, most: number): { at: number; text: string }[] {
  const step = TICKS.find((each) => length / each <= most) ?? length / most;
  const count = Math.floor(length / step + 1e-9);
  return Array.from({ length: count + 1 }, (_, n) => {
    const at = Number((n * step).toFixed(3));
    return { at, text: seconds(at) };
  });
}

/** Return the step that an arrow key leads to; the same one where there is none. */
export function neighbour(timeline: Timeline, index: number, key: string): number {
  const last = timeline.placed.length - 1;
  const current = timeline.placed[index];
  if (current === undefined) return 0;
  const targets: Readonly<Record<string, number>> = {
    ArrowLeft: Math.max(0, index - 1),
    ArrowRight: Math.min(last, index + 1),
    ArrowUp: nearestInLane(timeline, current, current.lane - 1, index),
    ArrowDown: nearestInLane(timeline, current, current.lane + 1, index),
    Home: 0,
    End: last,
  };
  return targets[key] ?? index;
}

function nearestInLane(timeline: Timeline, current: PlacedStep, lane: number, otherwise: number) {
  let found = otherwise;
  let least = Number.POSITIVE_INFINITY;
  for (const [index, { lane: own, from, to }] of timeline.placed.entries()) {
    const away = Math.max(0, from - current.to, current.from - to);
    if (own === lane && away < least) {
      found = index;
      least = away;
    }
  }
  return found;
}

/** Return a step in one sentence for readers who do not see it. */
export function stepWords(placed: PlacedStep, result: string): string {
  const { step, from, to, ready } = placed;
  const partitions = step.partitions === "" ? "" : ` ${step.partitions}`;
  const wait = from - ready >= 0.1 ? `, after waiting ${seconds(from - ready)}` : "";
  return `${step.model}${partitions}: ${result} in ${seconds(to - from)}${wait}`;
}
