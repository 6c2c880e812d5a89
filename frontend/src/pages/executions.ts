import type { ExecutionRow } from "../data/documents";
import { sumByKey } from "../parts/collect";
import { absolute } from "../parts/times";

/** What the chart of a model's executions shows; times are seconds since 1970. */
export interface ExecutionLines {
  readonly times: readonly number[];
  readonly seconds: readonly number[];
  readonly rows: readonly (number | null)[];
}

/** Return the executions that succeeded, oldest first, as lines over time. */
export function executionLines(executions: readonly ExecutionRow[]): ExecutionLines {
  const shown = executions.filter((each) => each.status === "success" && each.started);
  const sorted = shown
    .map((each) => ({ ...each, at: Date.parse(each.started) / 1000 }))
    .sort((a, b) => a.at - b.at);
  return {
    times: sorted.map((each) => each.at),
    seconds: sorted.map((each) => each.seconds),
    rows: sorted.map((each) => each.rows),
  };
}

/** Versions of rows by day, `2024-01-31`, in ascending order. */
export interface VersionsByDay {
  readonly days: readonly string[];
  readonly opened: readonly number[];
  readonly closed: readonly number[];
}

/** Return how many versions were opened and closed on each day of a zone, the reader's by default. */
export function versionsByDay(executions: readonly ExecutionRow[], zone?: string): VersionsByDay {
  const dated = executions
    .filter((row) => row.versions_opened !== null || row.versions_closed !== null)
    .map((row) => ({ ...row, day: absolute(row.started, zone).slice(0, 10) }));
  const opened = sumByKey(dated.map((row) => [row.day, row.versions_opened ?? 0]));
  const closed = sumByKey(dated.map((row) => [row.day, row.versions_closed ?? 0]));
  const days = [...opened.keys()].sort();
  const ofDays = (sums: ReadonlyMap<string, number>) => days.map((day) => sums.get(day) ?? 0);
  return { days, opened: ofDays(opened), closed: ofDays(closed) };
}
