/** Numbers, sizes, durations and times in words. */

const THIN_SPACE = "\u202f";

/** Return a whole number in groups of three digits. */
export function wholeNumber(value: number): string {
  return String(Math.round(value)).replace(/\B(?=(\d{3})+(?!\d))/g, THIN_SPACE);
}

const UNITS = ["B", "kB", "MB", "GB", "TB", "PB"];

/** Return a size in the largest fitting unit. */
export function fileSize(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 999.5 && unit < UNITS.length - 1) {
    value /= 1000;
    unit += 1;
  }
  const digits = unit > 0 && value < 9.95 ? 1 : 0;
  return `${value.toFixed(digits)}${THIN_SPACE}${UNITS[unit]}`;
}

const PARTS: readonly (readonly [number, string])[] = [
  [86_400, "d"],
  [3600, "h"],
  [60, "min"],
  [1, "s"],
];

/** Return a duration in its two largest units: `0.4 s`, `1 min 5 s`, `2 d 3 h`. */
export function duration(seconds: number): string {
  if (seconds < 10) return `${Number(seconds.toFixed(1))}${THIN_SPACE}s`;
  let rest = Math.round(seconds);
  const at = PARTS.findIndex(([length]) => rest >= length);
  const words: string[] = [];
  for (const [length, unit] of PARTS.slice(at, at + 2)) {
    const count = Math.floor(rest / length);
    rest -= count * length;
    if (count > 0) words.push(`${count}${THIN_SPACE}${unit}`);
  }
  return words.join(" ");
}

/** Return "1 step", "2 steps". */
export function counted(count: number, word: string): string {
  return `${wholeNumber(count)} ${count === 1 ? word : `${word}s`}`;
}

/** Return a time of the documents in the reader's zone, "" if it is not known. */
export function localTime(text: string): string {
  const time = new Date(text);
  if (text === "" || Number.isNaN(time.getTime())) return "";
  return time.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "medium" });
}
