/** Draw one block of a calendar on a canvas. */

import { axisLabels } from "../grid/axes";
import { type Block, type Cell, cellOf, type Interval, positionAt } from "../grid/blocks";
import type { Grid } from "../grid/grid";
import type { Colouring } from "./colouring";
import { firstFrom } from "./ranges";

const FONT_SIZE = 10;
const TOP = 14;
const SMALLEST_WITH_SIGN = 10;

export interface Geometry {
  readonly square: number;
  readonly pitch: number;
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

/** Return where the squares of a block stand, in CSS pixels. */
export function geometry(grid: Grid, block: Block, square: number): Geometry {
  const labels = axisLabels(grid, block);
  const longest = Math.max(0, ...labels.rows.map(({ text }) => text.length));
  const pitch = square + (square > 6 ? 2 : 1);
  const left = longest === 0 ? 2 : longest * 6 + 6;
  const top = labels.columns.length === 0 ? 2 : TOP;
  const width = left + block.columns * pitch + 2;
  return { square, pitch, left, top, width, height: top + block.rows * pitch + 2 };
}

/** Return the partition under a point of a block, or null. */
export function positionUnder(block: Block, geo: Geometry, x: number, y: number): number | null {
  const column = Math.floor((x - geo.left) / geo.pitch);
  const row = Math.floor((y - geo.top) / geo.pitch);
  return positionAt(block, { column, row });
}

export interface Marks {
  readonly cursor: number | null;
  readonly marked: readonly Interval[];
  readonly outlined: readonly Interval[];
}

export interface Drawing {
  readonly grid: Grid;
  readonly block: Block;
  readonly geo: Geometry;
  readonly colours: Colouring;
  /** Reads a CSS variable of the theme. */
  readonly token: (name: string) => string;
  readonly marks: Marks;
}

/** Draw labels, squares, and what is marked. */
export function drawBlock(context: CanvasRenderingContext2D, drawing: Drawing): void {
  const { geo, marks, token } = drawing;
  context.clearRect(0, 0, geo.width, geo.height);
  drawLabels(context, drawing);
  drawSquares(context, drawing);
  for (const each of marks.outlined) outline(context, drawing, each, token("--quiet"));
  for (const each of marks.marked) outline(context, drawing, each, token("--ink"));
  if (marks.cursor !== null) drawCursor(context, drawing, marks.cursor);
}

function drawLabels(context: CanvasRenderingContext2D, { grid, block, geo, token }: Drawing) {
  const labels = axisLabels(grid, block);
  context.font = `${FONT_SIZE}px system-ui, sans-serif`;
  context.fillStyle = token("--quiet");
  context.textAlign = "left";
  context.textBaseline = "alphabetic";
  for (const { at, text } of labels.columns) {
    context.fillText(text, geo.left + at * geo.pitch, TOP - 4);
  }
  context.textBaseline = "middle";
  for (const { at, text } of labels.rows) {
    if (at > 0 && geo.pitch < 9 && at % 5 !== 0) continue;
    context.fillText(text, 0, geo.top + at * geo.pitch + geo.square / 2);
  }
}

function drawSquares(context: CanvasRenderingContext2D, drawing: Drawing) {
  const { block, geo, colours, token } = drawing;
  const { ranges } = colours;
  const { square } = geo;
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.font = `${Math.round(square * 0.8)}px system-ui, sans-serif`;
  for (let index = firstFrom(ranges, block.first); index < ranges.length; index += 1) {
    const range = ranges[index];
    if (range === undefined || range.low > block.last) break;
    const entry = colours.entryOf[index] ?? 0;
    const fill = token(colours.entries[entry]?.colour ?? "--quiet");
    const sign = square < SMALLEST_WITH_SIGN ? "" : signOf(colours, entry);
    const last = Math.min(range.high, block.last);
    for (let at = Math.max(range.low, block.first); at <= last; at += 1) {
      const { x, y } = corner(geo, cellOf(block, at));
      context.fillStyle = fill;
      context.fillRect(x, y, square, square);
      if (sign === "") continue;
      context.fillStyle = token("--on-state");
      context.fillText(sign, x + square / 2, y + square / 2 + 0.5);
    }
  }
}

/** The sign of `current` is left out: what needs a look stands out. */
function signOf(colours: Colouring, entry: number): string {
  const found = colours.entries[entry];
  return found === undefined || found.colour === "--state-current" ? "" : found.sign;
}

function corner(geo: Geometry, { column, row }: Cell): { x: number; y: number } {
  return { x: geo.left + column * geo.pitch, y: geo.top + row * geo.pitch };
}

/** Draw the edges of an interval that lie between its squares and others. */
function outline(
  context: CanvasRenderingContext2D,
  { block, geo }: Drawing,
  { low, high }: Interval,
  colour: string,
) {
  const isInside = (cell: Cell) => {
    const at = positionAt(block, cell);
    return at !== null && low <= at && at <= high;
  };
  context.strokeStyle = colour;
  context.lineWidth = 1.5;
  context.beginPath();
  for (let at = Math.max(low, block.first); at <= Math.min(high, block.last); at += 1) {
    const { column, row } = cellOf(block, at);
    const x = geo.left + column * geo.pitch - 1;
    const y = geo.top + row * geo.pitch - 1;
    const end = geo.pitch;
    if (!isInside({ column: column - 1, row })) line(context, x, y, x, y + end);
    if (!isInside({ column: column + 1, row })) line(context, x + end, y, x + end, y + end);
    if (!isInside({ column, row: row - 1 })) line(context, x, y, x + end, y);
    if (!isInside({ column, row: row + 1 })) line(context, x, y + end, x + end, y + end);
  }
  context.stroke();
}

function line(context: CanvasRenderingContext2D, x: number, y: number, toX: number, toY: number) {
  context.moveTo(x, y);
  context.lineTo(toX, toY);
}

function drawCursor(context: CanvasRenderingContext2D, { block, geo, token }: Drawing, at: number) {
  if (at < block.first || at > block.last) return;
  const { x, y } = corner(geo, cellOf(block, at));
  context.strokeStyle = token("--ink");
  context.lineWidth = 2;
  context.strokeRect(x - 1, y - 1, geo.square + 2, geo.square + 2);
}
