import type { ExecutionRow } from "../data/documents";
import { sumByKey } from "../parts/collect";
import { absolute } from "../parts/times";

/** Return the executions that succeeded as lines over seconds since 1970, oldest first. */
export function executionLines(executions: readonly ExecutionRow[]) {
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

/**
 * Return the versions of rows that were opened and closed on each day, `2024-01-31`, oldest first.
 *
 * Days are those of a zone, the reader's by default.
 */
export function versionsByDay(executions: readonly ExecutionRow[], zone?: string) {
  const dated = executions
    .filter((row) => row.versions_opened !== null || row.versions_closed !== null)
    .map((row) => ({ ...row, day: absolute(row.started, zone).slice(0, 10) }));
  const opened = sumByKey(dated.map((row) => [row.day, row.versions_opened ?? 0]));
  const closed = sumByKey(dated.map((row) => [row.day, row.versions_closed ?? 0]));
  const days = [...opened.keys()].sort();
  const ofDays = (sums: ReadonlyMap<string, number>) => days.map((day) => sums.get(day) ?? 0);
  return { days, opened: ofDays(opened), closed: ofDays(closed) };
}
