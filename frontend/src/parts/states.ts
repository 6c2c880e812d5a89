/** How a state is shown: its words, a sign that needs no colour, and the token of its colour. */
export interface StateLook {
  readonly words: string;
  readonly sign: string;
  readonly colour: string;
}

function look(name: string, words: string, sign: string): StateLook {
  return { words, sign, colour: `--state-${name}` };
}

/** States of partitions, in the order of `penstock status`: what is wrong most comes first. */
export const STATES: Readonly<Record<string, StateLook>> = {
  failed: look("failed", "failed", "✗"),
  unreadable: look("unreadable", "unreadable", "#"),
  unrecorded: look("unrecorded", "unrecorded", "?"),
  foreign_table: look("foreign_table", "foreign table", "⊗"),
  missing: look("missing", "missing", "∅"),
  tampered: look("tampered", "changed outside penstock", "!"),
  version_upgraded: look("version_upgraded", "new version", "↑"),
  sql_changed: look("sql_changed", "code changed", "Δ"),
  schema_changed: look("schema_changed", "columns changed", "≡"),
  source_changed: look("source_changed", "source changed", "◇"),
  upstream_changed: look("upstream_changed", "upstream changed", "←"),
  never_run: look("never_run", "never built", "○"),
  running: look("running", "running", "►"),
  pending: look("pending", "pending", "»"),
  current: look("current", "current", "✓"),
  not_effective: look("not_effective", "no version applies", "–"),
};

/** Results of runs, steps, checks and slices, and kinds of attention. */
const RESULTS: Readonly<Record<string, StateLook>> = {
  success: look("current", "succeeded", "✓"),
  passed: look("current", "passed", "✓"),
  skipped: look("not_effective", "skipped", "–"),
  aborted: look("missing", "aborted", "∅"),
  blocked: look("failed", "blocked by checks", "■"),
  flagged: look("source_changed", "flagged by checks", "⚑"),
  quarantined: look("tampered", "quarantined", "◫"),
  late: look("sql_changed", "late", "◔"),
};

/** Return how a state or result is shown, upper or lower case; an unknown one shows its name. */
export function stateLook(name: string): StateLook {
  const key = name.toLowerCase();
  return STATES[key] ?? RESULTS[key] ?? look("unreadable", key.replaceAll("_", " "), "·");
}

/** Return a reason with the words of its states: "never built" for `never_run`. */
export function inWords(reason: string): string {
  return reason.replace(/\b[a-z]+_[a-z]+\b/g, (name) => STATES[name]?.words ?? name);
}

const ORDER = Object.keys(STATES);

/** Return where a state stands in lists: 0 is most urgent; unknown states come last. */
export function urgency(name: string): number {
  const place = ORDER.indexOf(name.toLowerCase());
  return place < 0 ? ORDER.length : place;
}
