import { describe, expect, test } from "vitest";
import {
  type Block,
  blockAt,
  blocksOf,
  cellOf,
  monthColumns,
  moved,
  positionAt,
} from "../../src/grid/blocks";
import { dayNumber } from "../../src/grid/dates";
import type { Grain, Grid } from "../../src/grid/grid";

const grid = (grain: Grain, start = 0, width = 1): Grid => ({ grain, start, width });
const DAY = grid("day");
function day(key: string): number {
  const [year = 0, month, date] = key.split("-").map(Number);
  return dayNumber(year, month, date);
}

describe("blocks", () => {
  test("a year of days is 53 columns of 7 squares", () => {
    expect(blockAt(DAY, day("2024-06-01"))).toEqual<Block>({
      label: "2024",
      first: 19_723,
      last: 20_088,
      offset: 0,
      columns: 53,
      rows: 7,
      isDown: true,
    });
  });

  test("a leap year that begins on a Sunday needs a 54th column", () => {
    const block = blockAt(DAY, day("2012-03-01"));

    expect(block.columns).toBe(54);
    expect(cellOf(block, day("2012-01-01"))).toEqual({ column: 0, row: 6 });
    expect(cellOf(block, day("2012-12-31"))).toEqual({ column: 53, row: 0 });
  });

  test.each([
    ["2024-01-01", 0, 0],
    ["2024-02-29", 8, 3],
    ["2024-12-31", 52, 1],
    ["2023-01-01", 0, 6],
    ["2023-12-31", 52, 6],
  ])("%s stands in column %i, row %i", (key, column, row) => {
    const block = blockAt(DAY, day(key));

    expect(cellOf(block, day(key))).toEqual({ column, row });
    expect(positionAt(block, { column, row })).toBe(day(key));
  });

  test("squares before the first and after the last partition are empty", () => {
    const block = blockAt(DAY, day("2023-05-05"));

    expect(positionAt(block, { column: 0, row: 5 })).toBeNull();
    expect(positionAt(block, { column: 53, row: 0 })).toBeNull();
    expect(positionAt(block, { column: -1, row: 0 })).toBeNull();
  });

  test.each<[Grid, number, string, number, number]>([
    [grid("hour"), dayNumber(2024, 2, 29) * 24 + 5, "February 2024", 24, 29],
    [grid("week"), 2817, "2024", 53, 1],
    [grid("month"), 24_288, "2020 to 2029", 12, 10],
    [grid("year"), 2024, "2000 to 2099", 10, 10],
    [grid("range", 0, 10), 1234, "from 10000", 50, 20],
    [grid("whole"), 0, "", 1, 1],
  ])("%o at %i is the block %s of %i times %i", (of, position, label, columns, rows) => {
    const block = blockAt(of, position);

    expect([block.label, block.columns, block.rows]).toEqual([label, columns, rows]);
    expect(positionAt(block, cellOf(block, position))).toBe(position);
  });

  test("a day of hours is a row of 24", () => {
    const position = dayNumber(2024, 2, 29) * 24 + 5;

    expect(cellOf(blockAt(grid("hour"), position), position)).toEqual({ column: 5, row: 28 });
  });

  test("an ISO year has 52 or 53 weeks", () => {
    const lengths = ["2020-06-01", "2021-06-07"].map((key) => {
      const block = blockAt(grid("week"), (day(key) - 4) / 7);
      return block.last - block.first + 1;
    });

    expect(lengths).toEqual([53, 52]);
  });

  test("years stand newest first, and years without partitions are left out", () => {
    const intervals = [
      { low: day("2019-12-30"), high: day("2020-01-02") },
      { low: day("2023-01-01"), high: day("2024-06-01") },
    ];

    const labels = blocksOf(DAY, intervals, 100).map((block) => block.label);

    expect(labels).toEqual(["2024", "2023", "2020", "2019"]);
  });

  test("integers stand in ascending order, and of very many blocks the last ones are shown", () => {
    const labels = blocksOf(grid("range", 0, 1), [{ low: 0, high: 4999 }], 3).map((b) => b.label);

    expect(labels).toEqual(["from 2000", "from 3000", "from 4000"]);
  });

  test("a million hours are 1369 months", () => {
    expect(blocksOf(grid("hour"), [{ low: 0, high: 999_999 }], 10_000)).toHaveLength(1369);
  });

  test("months begin in their columns", () => {
    const columns = monthColumns(blockAt(DAY, day("2024-01-01"))).slice(0, 4);

    expect(columns).toEqual([
      { name: "Jan", column: 0 },
      { name: "Feb", column: 4 },
      { name: "Mar", column: 8 },
      { name: "Apr", column: 13 },
    ]);
  });
});

describe("keys that move", () => {
  const intervals = [
    { low: day("2023-11-01"), high: day("2024-01-10") },
    { low: day("2024-01-20"), high: day("2024-03-01") },
  ];
  const go = (key: string, direction: Parameters<typeof moved>[3]): number =>
    moved(DAY, intervals, day(key), direction);

  test.each<[string, Parameters<typeof moved>[3], string]>([
    ["2024-01-05", "down", "2024-01-06"],
    ["2024-01-05", "up", "2024-01-04"],
    ["2024-01-01", "right", "2024-01-08"],
    ["2024-01-08", "left", "2024-01-01"],
    ["2024-01-10", "down", "2024-01-20"],
    ["2024-01-20", "up", "2024-01-10"],
    ["2024-01-08", "right", "2024-01-20"],
    ["2023-11-01", "up", "2023-11-01"],
    ["2024-02-28", "right", "2024-03-01"],
    ["2024-02-01", "blockStart", "2024-01-01"],
    ["2023-11-20", "blockEnd", "2023-12-31"],
    ["2024-01-05", "blockDown", "2023-11-01"],
    ["2023-12-01", "blockUp", "2024-03-01"],
    ["2024-01-05", "first", "2023-11-01"],
    ["2024-01-05", "last", "2024-03-01"],
  ])("from %s, %s leads to %s", (from, direction, to) => {
    expect(go(from, direction)).toBe(day(to));
  });

  test("up and down change the year where a year is one row", () => {
    const weeks = [{ low: 2700, high: 2900 }];

    expect(moved(grid("week"), weeks, 2817, "down")).toBe(2765);
    expect(moved(grid("week"), weeks, 2817, "up")).toBe(2869);
    expect(moved(grid("week"), weeks, 2817, "right")).toBe(2818);
  });
});
