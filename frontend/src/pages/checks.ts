import type { Evaluation } from "../data/documents";

/** Points of a small line, in a box of 100 by 30; `limit` is the height of the limit. */
export interface SmallLine {
  readonly points: string;
  readonly limit: number | null;
}

const WIDTH = 100;
const HEIGHT = 30;

/** Return the values of evaluations as a line with their last limit; null without two values. */
export function valueLine(evaluations: readonly Evaluation[]): SmallLine | null {
  const values = evaluations.flatMap(({ value }) => (value === null ? [] : [value]));
  if (values.length < 2) return null;
  const limit = evaluations.findLast((each) => each.limit !== null)?.limit ?? null;
  const all = limit === null ? values : [...values, limit];
  const low = Math.min(...all);
  const span = Math.max(...all) - low || 1;
  const height = (value: number) => round(HEIGHT - 2 - ((value - low) / span) * (HEIGHT - 4));
  const step = WIDTH / (values.length - 1);
  return {
    points: values.map((value, n) => `${round(n * step)},${height(value)}`).join(" "),
    limit: limit === null ? null : height(limit),
  };
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
