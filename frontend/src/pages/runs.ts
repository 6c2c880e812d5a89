import type { RunRow } from "../data/documents";
import type { Key } from "../parts/sort";
import { sortRows } from "../parts/sort";
import { secondsBetween } from "../parts/times";

const KEYS: Readonly<Record<string, (run: RunRow) => Key>> = {
  started: (run) => run.started,
  command: (run) => run.command,
  status: (run) => run.status,
  models: (run) => run.models,
  failed: (run) => run.failed,
  seconds: (run) => secondsBetween(run.started, run.ended),
  id: (run) => run.id,
};

/** Return the runs of a status, all for "", sorted by a column; `-column` is descending. */
export function listRuns(runs: readonly RunRow[], status: string, sort: string): readonly RunRow[] {
  const key = KEYS[sort.replace(/^-/, "")] ?? ((run: RunRow) => run.started);
  return sortRows(
    runs.filter((run) => !status || run.status === status),
    key,
    sort,
  );
}
