/** Calendars as blocks of squares: where each partition stands. */

import { civilDate, dayNumber, firstIsoMonday, isoWeek, weekday } from "./dates";
import type { Grid } from "./grid";

/**
 * Squares of the partitions `first` to `last`. The first one stands `offset` squares after the
 * corner; the next ones follow down the columns if `isDown`, otherwise along the rows.
 */
export interface Block {
  readonly label: string;
  readonly first: number;
  readonly last: number;
  readonly offset: number;
  readonly columns: number;
  readonly rows: number;
  readonly isDown: boolean;
}

export interface Cell {
  readonly column: number;
  readonly row: number;
}

export interface Interval {
  readonly low: number;
  readonly high: number;
}

const MONTHS =
  "January February March April May June July August September October November December";
const NEWEST_FIRST: ReadonlySet<string> = new Set(["hour", "day", "week"]);
const RANGE_COLUMNS = 50;
const RANGE_ROWS = 20;

/** Return the block that holds a partition. */
export function blockAt(grid: Grid, position: number): Block {
  switch (grid.grain) {
    case "whole":
      return rowsOf("", 0, 0, 1);
    case "hour":
      return monthOfHours(position);
    case "day":
      return yearOfDays(position);
    case "week":
      return yearOfWeeks(position);
    case "month": {
      const decade = Math.floor(position / 120);
      return rowsOf(`${decade * 10} to ${decade * 10 + 9}`, decade * 120, decade * 120 + 119, 12);
    }
    case "year": {
      const century = Math.floor(position / 100) * 100;
      return rowsOf(`${century} to ${century + 99}`, century, century + 99, 10);
    }
    case "range": {
      const size = RANGE_COLUMNS * RANGE_ROWS;
      const first = Math.floor(position / size) * size;
      const from = grid.start + first * grid.width;
      return rowsOf(`from ${from}`, first, first + size - 1, RANGE_COLUMNS);
    }
  }
}

function rowsOf(label: string, first: number, last: number, columns: number): Block {
  const rows = Math.ceil((last - first + 1) / columns);
  return { label, first, last, offset: 0, columns, rows, isDown: false };
}

function monthOfHours(position: number): Block {
  const { year, month } = civilDate(Math.floor(position / 24));
  const first = dayNumber(year, month);
  const next = month === 12 ? dayNumber(year + 1) : dayNumber(year, month + 1);
  return rowsOf(`${MONTHS.split(" ")[month - 1]} ${year}`, first * 24, next * 24 - 1, 24);
}

function yearOfDays(position: number): Block {
  const { year } = civilDate(position);
  const first = dayNumber(year);
  const last = dayNumber(year + 1) - 1;
  const offset = weekday(first);
  // A leap year that begins on a Sunday touches 54 weeks.
  const columns = Math.max(53, Math.ceil((last - first + 1 + offset) / 7));
  return { label: String(year), first, last, offset, columns, rows: 7, isDown: true };
}

function yearOfWeeks(position: number): Block {
  const { year } = isoWeek(4 + 7 * position);
  const first = (firstIsoMonday(year) - 4) / 7;
  const last = (firstIsoMonday(year + 1) - 4) / 7 - 1;
  return { label: String(year), first, last, offset: 0, columns: 53, rows: 1, isDown: false };
}

/** Return the square of a partition of the block. */
export function cellOf(block: Block, position: number): Cell {
  const index = position - block.first + block.offset;
  const length = block.isDown ? block.rows : block.columns;
  const along = index % length;
  const across = Math.floor(index / length);
  return block.isDown ? { column: across, row: along } : { column: along, row: across };
}

/** Return the partition at a square, or null if the square stands empty. */
export function positionAt(block: Block, cell: Cell): number | null {
  const { column, row } = cell;
  if (column < 0 || row < 0 || column >= block.columns || row >= block.rows) return null;
  const index = block.isDown ? column * block.rows + row : row * block.columns + column;
  const position = block.first + index - block.offset;
  return position < block.first || position > block.last ? null : position;
}

/**
 * Return the blocks that hold any of the intervals (in ascending order), in reading order:
 * the newest first for hours, days and weeks. Of very many, the last `most` ones.
 */
export function blocksOf(grid: Grid, intervals: readonly Interval[], most: number): Block[] {
  const blocks: Block[] = [];
  let reached = Number.POSITIVE_INFINITY;
  for (const { low, high } of [...intervals].reverse()) {
    for (let at = Math.min(high, reached - 1); at >= low && blocks.length < most; ) {
      const block = blockAt(grid, at);
      blocks.push(block);
      reached = block.first;
      at = reached - 1;
    }
  }
  return NEWEST_FIRST.has(grid.grain) ? blocks : blocks.reverse();
}

export type Direction = keyof ReturnType<typeof targets>;

/** Return the partition that a key leads to; one that exists, or the same where there is none. */
export function moved(
  grid: Grid,
  intervals: readonly Interval[],
  position: number,
  direction: Direction,
): number {
  const wanted = targets(grid, intervals, position)[direction];
  return wanted === position ? position : nearest(intervals, wanted, position);
}

/** Return where each direction leads, whether a partition is there or not. */
function targets(grid: Grid, intervals: readonly Interval[], position: number) {
  const block = blockAt(grid, position);
  const [across, along] = block.isDown ? [block.rows, 1] : [1, block.columns];
  const [above, below] = [page(grid, position, -1), page(grid, position, 1)];
  const isSingleRow = block.rows === 1;
  return {
    left: position - across,
    right: position + across,
    up: isSingleRow ? above : position - along,
    down: isSingleRow ? below : position + along,
    blockStart: block.first,
    blockEnd: block.last,
    blockUp: above,
    blockDown: below,
    first: intervals[0]?.low ?? position,
    last: intervals.at(-1)?.high ?? position,
  };
}

/** Return the same place in the block drawn above (-1) or below (1). */
function page(grid: Grid, position: number, side: -1 | 1): number {
  if (grid.grain === "whole") return position;
  const isLater = NEWEST_FIRST.has(grid.grain) ? side < 0 : side > 0;
  const block = blockAt(grid, position);
  const other = blockAt(grid, isLater ? block.last + 1 : block.first - 1);
  return Math.min(other.last, other.first + position - block.first);
}

/** Return the existing partition nearest to the wanted one, on the far side of `from` if any. */
function nearest(intervals: readonly Interval[], wanted: number, from: number): number {
  const isForward = wanted > from;
  const inside = intervals.find(({ low, high }) => low <= wanted && wanted <= high);
  if (inside !== undefined) return wanted;
  const after = intervals.find(({ low }) => low > wanted)?.low;
  const before = intervals.findLast(({ high }) => high < wanted)?.high;
  const choices = isForward ? [after, before] : [before, after];
  const beyond = choices.find((each) => each !== undefined && each > from === isForward);
  return beyond ?? from;
}

/** Return the column in which each month of a year of days begins. */
export function monthColumns(block: Block): { name: string; column: number }[] {
  const { year } = civilDate(block.first);
  return MONTHS.split(" ").map((name, index) => ({
    name: name.slice(0, 3),
    column: cellOf(block, dayNumber(year, index + 1)).column,
  }));
}
