/** Labels at the sides of a block of squares. */

import { type Block, monthColumns } from "./blocks";
import { type Grid, keyOf } from "./grid";

export interface AxisLabel {
  readonly at: number;
  readonly text: string;
}

export interface AxisLabels {
  readonly columns: readonly AxisLabel[];
  readonly rows: readonly AxisLabel[];
}

const NONE: AxisLabels = { columns: [], rows: [] };
const WEEKDAYS = ["Mon", "Wed", "Fri"].map((text, n) => ({ at: 2 * n, text }));

/** Return the labels of a block: months and weekdays, hours and days, or the key of each row. */
export function axisLabels(grid: Grid, block: Block): AxisLabels {
  switch (grid.grain) {
    case "whole":
    case "week":
      return NONE;
    case "day": {
      const columns = monthColumns(block).map(({ name, column }) => ({ at: column, text: name }));
      return { columns, rows: WEEKDAYS };
    }
    case "hour": {
      const columns = [0, 6, 12, 18].map((at) => ({ at, text: `${at}h` }));
      return { columns, rows: everyRow(block, 5, (row) => String(row + 1)) };
    }
    case "month": {
      const columns = [0, 3, 6, 9].map((at) => ({ at, text: String(at + 1) }));
      return { columns, rows: everyRow(block, 1, (row) => String(block.first / 12 + row)) };
    }
    default: {
      const keyOfRow = (row: number) => keyOf(grid, block.first + row * block.columns);
      return { columns: [], rows: everyRow(block, 1, keyOfRow) };
    }
  }
}

function everyRow(block: Block, step: number, text: (row: number) => string): AxisLabel[] {
  const labels: AxisLabel[] = [];
  for (let at = 0; at < block.rows; at += step) labels.push({ at, text: text(at) });
  return labels;
}
