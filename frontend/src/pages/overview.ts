import type { ProjectDocument, RunRow } from "../data/documents";
import { counted } from "../parts/numbers";
import { secondsBetween } from "../parts/times";

/** A run as a bar: its height is a share of the longest, 0 while it runs. */
export interface RunBar {
  readonly run: RunRow;
  readonly seconds: number | null;
  readonly height: number;
}

const MOST_BARS = 50;

/** Return the last runs, oldest first. */
export function runBars(runs: readonly RunRow[]): readonly RunBar[] {
  const timed = runs.slice(0, MOST_BARS).map((run) => ({
    run,
    seconds: secondsBetween(run.started, run.ended),
  }));
  const longest = Math.max(...timed.map((each) => each.seconds ?? 0), 0.001);
  return timed.map((each) => ({ ...each, height: (each.seconds ?? 0) / longest })).reverse();
}

/** Return the sentence for a project in which nothing needs a person. */
export function calmSentence(project: ProjectDocument): string {
  if (project.models.length === 0) return "This project has no models yet.";
  if (project.notices.some((each) => each.is_error)) return "Nothing else needs attention.";
  const isBuilt = project.runs.length > 0 || project.models.some((each) => each.built_at);
  if (!isBuilt) return "Nothing has been built yet.";
  return `Nothing needs attention in ${counted(project.models.length, "model")}.`;
}
