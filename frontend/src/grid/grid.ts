/** Partitions as whole numbers, and their keys as penstock writes them. */

import { civilDate, dayNumber, isoWeek, weekday } from "./dates";

export type Grain = "hour" | "day" | "week" | "month" | "year" | "range" | "whole";

/** `start` and `width` are those of integer ranges. */
export interface Grid {
  readonly grain: Grain;
  readonly start: number;
  readonly width: number;
}

const GRAINS: ReadonlySet<string> = new Set([
  "hour",
  "day",
  "week",
  "month",
  "year",
  "range",
  "whole",
]);
const FIRST_MONDAY = 4;

/** Return the grid of a document or model row; an unknown grain counts as one whole table. */
export function gridOf(named: { grain: string; start?: number; width?: number }): Grid {
  const grain = GRAINS.has(named.grain) ? (named.grain as Grain) : "whole";
  return { grain, start: named.start ?? 0, width: named.width ?? 1 };
}

/** Return the key of a partition. */
export function keyOf(grid: Grid, position: number): string {
  switch (grid.grain) {
    case "whole":
      return "*";
    case "range":
      return String(grid.start + position * grid.width);
    case "year":
      return padded(position, 4);
    case "month":
      return `${padded(Math.floor(position / 12), 4)}-${padded((position % 12) + 1, 2)}`;
    case "week":
      return dayKey(FIRST_MONDAY + 7 * position);
    case "day":
      return dayKey(position);
    case "hour": {
      const day = Math.floor(position / 24);
      return `${dayKey(day)}T${padded(position - day * 24, 2)}`;
    }
  }
}

function dayKey(number: number): string {
  const { year, month, day } = civilDate(number);
  return `${padded(year, 4)}-${padded(month, 2)}-${padded(day, 2)}`;
}

function padded(value: number, digits: number): string {
  return String(value).padStart(digits, "0");
}

const FORMS: Readonly<Record<Grain, RegExp>> = {
  hour: /^(\d{4})-(\d{2})-(\d{2})T(\d{2})$/,
  day: /^(\d{4})-(\d{2})-(\d{2})$/,
  week: /^(\d{4})-(\d{2})-(\d{2})$/,
  month: /^(\d{4})-(\d{2})$/,
  year: /^(\d{4,9})$/,
  range: /^(-?\d+)$/,
  whole: /^\*$/,
};

/** Return the partition of a key, or null if no partition has that key. */
export function positionOf(grid: Grid, key: string): number | null {
  const match = FORMS[grid.grain].exec(key);
  if (match === null) return null;
  const [first = 0, month = 1, day = 1, hour = 0] = match.slice(1).map(Number);
  const position = positionOfParts(grid, first, month, day, hour);
  return keyOf(grid, position) === key ? position : null;
}

function positionOfParts(
  grid: Grid,
  first: number,
  month: number,
  day: number,
  hour: number,
): number {
  switch (grid.grain) {
    case "whole":
      return 0;
    case "range":
      return Math.floor((first - grid.start) / grid.width);
    case "year":
      return first;
    case "month":
      return 12 * first + month - 1;
    case "week":
      return Math.floor((dayNumber(first, month, day) - FIRST_MONDAY) / 7);
    case "day":
      return dayNumber(first, month, day);
    case "hour":
      return dayNumber(first, month, day) * 24 + hour;
  }
}

const WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

/** Return a partition in words: its key, and what a reader wants to know of it. */
export function nameOf(grid: Grid, position: number): string {
  const key = keyOf(grid, position);
  switch (grid.grain) {
    case "whole":
      return "the whole table";
    case "range":
      return `${key} to ${grid.start + (position + 1) * grid.width - 1}`;
    case "day":
      return `${WEEKDAYS[weekday(position)]}, ${key}`;
    case "week": {
      const { year, week } = isoWeek(FIRST_MONDAY + 7 * position);
      return `${key}, week ${week} of ${year}`;
    }
    case "hour":
      return `${key.slice(0, 10)}, ${key.slice(11)}:00 UTC`;
    default:
      return key;
  }
}

/** Return partitions as one key, or as `first to last`. */
export function keysOf(grid: Grid, low: number, high: number): string {
  return low === high ? keyOf(grid, low) : `${keyOf(grid, low)} to ${keyOf(grid, high)}`;
}
