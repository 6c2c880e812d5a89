import { UNKNOWN } from "./numbers";

const STEPS: readonly (readonly [number, string])[] = [
  [86_400, "day"],
  [3600, "hour"],
  [60, "minute"],
];

/** Return how long ago a time is, or how long until then: "3 hours ago", "in 2 days". */
export function relative(at: string, now: Date): string {
  if (!at) return UNKNOWN;
  const away = (now.getTime() - Date.parse(at)) / 1000;
  const [size, unit] = STEPS.find(([each]) => Math.abs(away) >= each) ?? [0, ""];
  if (!size) return away < 0 ? "in a moment" : "just now";
  const amount = Math.floor(Math.abs(away) / size);
  const text = `${amount} ${unit}${amount === 1 ? "" : "s"}`;
  return away < 0 ? `in ${text}` : `${text} ago`;
}

/** Return a time in a zone, the reader's by default: 2024-01-31 11:05:00. */
export function absolute(at: string, zone?: string): string {
  if (!at) return UNKNOWN;
  const format = new Intl.DateTimeFormat("sv-SE", {
    dateStyle: "short",
    timeStyle: "medium",
    ...(zone ? { timeZone: zone } : {}),
  });
  return format.format(new Date(at));
}

/** Return a time as it stands in logs: 2024-01-31 10:05:00 UTC. */
export function utc(at: string): string {
  return at ? `${at.slice(0, 19).replace("T", " ")} UTC` : "";
}

/** Return the seconds between two times, null if one is not known. */
export function secondsBetween(from: string, to: string): number | null {
  return from && to ? (Date.parse(to) - Date.parse(from)) / 1000 : null;
}
