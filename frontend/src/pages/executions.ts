import type { ExecutionRow } from "../data/documents";

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
