/** Partitions as whole numbers, and their keys as penstock writes them. */

import { civilDate, isoWeek, weekday } from "./dates";

const GRAINS = ["hour", "day", "week", "month", "year", "range", "whole"] as const;

export type Grain = (typeof GRAINS)[number];

/** `start` and `width` are those of integer ranges. */
export interface Grid {
  readonly grain: Grain;
  readonly start: number;
  readonly width: number;
}

const FIRST_MONDAY = 4;

const STATUS_GRAIN = /^(\w+)(?:\((-?\d+),-?\d+,(\d+)\))?$/;

/** Return the grid of partitions, or of a model row: `DAY`, `RANGE(0,90,10)`, `*` for whole tables. */
export function gridOf(named: { grain: string; start?: number; width?: number }): Grid {
  const [, word = "", start = 0, width = 1] = STATUS_GRAIN.exec(named.grain) ?? [];
  const grain = GRAINS.find((each) => each === word.toLowerCase()) ?? "whole";
  return { grain, start: named.start ?? Number(start), width: named.width ?? Number(width) };
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
