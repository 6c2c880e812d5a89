import type { RunRow } from "../data/documents";
import { secondsBetween } from "../parts/times";

type Key = string | number;

const KEYS: Readonly<Record<string, (run: RunRow) => Key>> = {
  started: (run) => run.started,
  command: (run) => run.command,
  status: (run) => run.status,
  models: (run) => run.models,
  failed: (run) => run.failed,
  seconds: (run) => secondsBetween(run.started, run.ended) ?? -1,
  id: (run) => run.id,
};

/** Return the runs of a status, all for "", sorted by a column; `-column` is descending. */
export function listRuns(runs: readonly RunRow[], status: string, sort: string): readonly RunRow[] {
  const key = KEYS[sort.replace(/^-/, "")] ?? ((run: RunRow) => run.started);
  const sign = sort.startsWith("-") ? -1 : 1;
  const shown = runs.filter((run) => !status || run.status === status);
  return shown.sort((a, b) => {
    const [one, other] = [key(a), key(b)];
    return one === other ? 0 : one < other ? -sign : sign;
  });
}
