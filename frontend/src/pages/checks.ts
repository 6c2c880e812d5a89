import type { BandPoint, Evaluation } from "../data/documents";

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

/** A line of values with the band that was expected of them, in the same box. */
export interface SmallBand {
  readonly points: string;
  /** The outline of the band, "" without one. */
  readonly band: string;
  readonly failed: readonly { readonly x: number; readonly y: number; readonly at: string }[];
}

/** Return the values of a check that compares them with earlier ones; null without two values. */
export function valueBand(values: readonly BandPoint[]): SmallBand | null {
  if (values.length < 2) return null;
  const all = values.flatMap(({ value, low, high }) => [value, low ?? value, high ?? value]);
  const least = Math.min(...all);
  const span = Math.max(...all) - least || 1;
  const y = (value: number) => round(HEIGHT - 2 - ((value - least) / span) * (HEIGHT - 4));
  const x = (n: number) => round((n * WIDTH) / (values.length - 1));
  const bounds = values.flatMap(({ low, high }, n) =>
    low === null || high === null ? [] : [{ top: `${x(n)},${y(high)}`, low: `${x(n)},${y(low)}` }],
  );
  return {
    points: values.map(({ value }, n) => `${x(n)},${y(value)}`).join(" "),
    band: [...bounds.map(({ top }) => top), ...bounds.map(({ low }) => low).reverse()].join(" "),
    failed: values.flatMap(({ at, status, value }, n) =>
      status === "failed" ? [{ x: x(n), y: y(value), at }] : [],
    ),
  };
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
