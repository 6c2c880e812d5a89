/** A thin space that does not break: between digits in groups of three, and before units. */
const THIN = "\u202f";
/** Shown where a value is not known. */
export const UNKNOWN = "–";

/** Return a number with thin spaces: 12 345. */
export function number(value: number | null): string {
  if (value === null) return UNKNOWN;
  const [whole = "", fraction] = String(value).split(".");
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, THIN);
  return fraction ? `${grouped}.${fraction}` : grouped;
}

/** Return a number of things: 1 partition, 2 partitions. */
export function counted(value: number, singular: string, plural = `${singular}s`): string {
  return `${number(value)} ${value === 1 ? singular : plural}`;
}

const SIZES = ["B", "kB", "MB", "GB", "TB", "PB"];

/** Return a size in decimal units with up to three digits: 4.2 MB. */
export function bytes(value: number | null): string {
  if (value === null) return UNKNOWN;
  let size = value;
  let unit = 0;
  while (size >= 999.5 && unit < SIZES.length - 1) {
    size /= 1000;
    unit += 1;
  }
  return `${digits(size)}${THIN}${SIZES[unit]}`;
}

function digits(value: number): string {
  if (Number.isInteger(value) || value >= 99.95) return String(Math.round(value));
  return String(Number(value.toFixed(value >= 9.995 ? 1 : 2)));
}

/** Return a duration in its two greatest units: 350 ms, 12.5 s, 1 min 15 s, 2 h 5 min, 3 d 4 h. */
export function seconds(value: number | null): string {
  if (value === null) return UNKNOWN;
  if (value > 0 && value < 0.9995) return `${Math.round(value * 1000)}${THIN}ms`;
  if (value < 59.95) return `${digits(Math.round(value * 10) / 10)}${THIN}s`;
  const whole = Math.round(value);
  if (whole < 3600) return pair(whole, 60, "min", 1, "s");
  if (whole < 86_400) return pair(whole, 3600, "h", 60, "min");
  return pair(whole, 86_400, "d", 3600, "h");
}

function pair(whole: number, much: number, great: string, little: number, small: string): string {
  const rest = Math.floor((whole % much) / little);
  const first = `${Math.floor(whole / much)}${THIN}${great}`;
  return rest ? `${first} ${rest}${THIN}${small}` : first;
}

/** Return a share in percent; only all is 100 % and only nothing 0 %. */
export function share(part: number, all: number): string {
  if (all === 0) return UNKNOWN;
  const percent = (100 * part) / all;
  const isClear = part === 0 || part === all || (percent >= 0.5 && percent < 99.5);
  const text = isClear ? String(Math.round(percent)) : percent < 50 ? "< 1" : "> 99";
  return `${text}${THIN}%`;
}
