import { describe, expect, test } from "vitest";
import { colouring, waysOf } from "../../src/calendar/colouring";
import { geometry, positionUnder } from "../../src/calendar/draw";
import {
  mappedInputs,
  mappedIntervals,
  mappedReader,
  readingIntervals,
  syncCommand,
} from "../../src/calendar/mapped";
import { indexAt, joined, totals, within } from "../../src/calendar/ranges";
import { sentenceOf } from "../../src/calendar/sentence";
import type { PartitionMapping } from "../../src/data/documents";
import { blockAt } from "../../src/grid/blocks";
import { gridOf } from "../../src/grid/grid";
import { PROJECT } from "../fixtures";
import { CODES, FIRST, JANUARY, range } from "./fixtures";

const DAY = gridOf({ grain: "day" });

describe("ranges", () => {
  test("a partition is found in its range, and one outside in none", () => {
    const found = [FIRST - 1, FIRST, FIRST + 27, FIRST + 28, FIRST + 30, FIRST + 31];

    expect(found.map((at) => indexAt(JANUARY.ranges, at))).toEqual([-1, 0, 0, 1, 2, -1]);
  });

  test("neighbouring ranges are one interval", () => {
    const ranges = [
      range({ low: 1, high: 3 }),
      range({ low: 4, high: 4 }),
      range({ low: 9, high: 9 }),
    ];

    expect(joined(ranges)).toEqual([
      { low: 1, high: 4 },
      { low: 9, high: 9 },
    ]);
  });

  test("parts of ranges are cut at both ends", () => {
    const parts = within(JANUARY.ranges, FIRST + 27, FIRST + 29);

    expect(parts.map(({ low, high }) => [low - FIRST, high - FIRST])).toEqual([
      [27, 27],
      [28, 28],
      [29, 29],
    ]);
  });

  test("totals of a marked range name states, steps and rows", () => {
    expect(totals(JANUARY, PROJECT, FIRST, FIRST + 30)).toEqual({
      partitions: 31,
      states: new Map([
        ["current", 28],
        ["sql_changed", 1],
        ["never_run", 2],
      ]),
      steps: 2,
      rows: 506,
      bytes: null,
    });
  });

  test("rows and bytes are those of the marked partitions", () => {
    expect(totals(JANUARY, PROJECT, FIRST + 1, FIRST + 2)).toMatchObject({ rows: 5, bytes: 4000 });
    expect(totals(JANUARY, PROJECT, FIRST + 29, FIRST + 30)).toMatchObject({
      rows: null,
      steps: 0,
    });
  });

  test("one line says what a partition is", () => {
    expect(sentenceOf(JANUARY, PROJECT, FIRST + 28, "UTC")).toBe(
      "Monday, 2024-01-29: code changed (revenue_by_day.v2.sql changed) · version 2, revision 0 · " +
        "100 rows · built 2024-01-30 12:00:00 by run-0",
    );
    expect(sentenceOf(JANUARY, PROJECT, FIRST + 2, "UTC")).toBe(
      "Wednesday, 2024-01-03: current · version 2, revision 0 · 3 rows · 2\u202fkB · " +
        "built 2024-01-31 10:00:00 by run-1",
    );
    expect(sentenceOf(JANUARY, PROJECT, FIRST + 29, "UTC")).toBe(
      "Tuesday, 2024-01-30: never built",
    );
    expect(sentenceOf(JANUARY, PROJECT, FIRST + 99)).toBe("");
  });
});

describe("commands and mappings", () => {
  test.each([
    [
      "marts.a",
      DAY,
      FIRST,
      FIRST,
      "penstock sync --select marts.a --from 2024-01-01 --to 2024-01-01",
    ],
    [
      "marts.a",
      DAY,
      FIRST,
      FIRST + 2,
      "penstock sync --select marts.a --from 2024-01-01 --to 2024-01-03",
    ],
    ["it's", gridOf({ grain: "whole" }), 0, 0, `penstock sync --select 'it'"'"'s'`],
    [
      "r",
      gridOf({ grain: "range", start: 0, width: 10 }),
      1,
      2,
      "penstock sync --select r --from 10 --to 20",
    ],
  ])("%s is repaired by its command", (model, grid, low, high, command) => {
    expect(syncCommand(model, grid, { low, high }, "")).toBe(command);
    expect(syncCommand(model, grid, { low, high }, "--target p")).toBe(`${command} --target p`);
  });

  test("partitions that move read as many before as their own number", () => {
    const mapping = {
      node: "a",
      ranges: [
        { low: 10, high: 20, first: 7, last: 10, moves: true },
        { low: 30, high: 40, first: 3, last: 4, moves: false },
      ],
    };

    expect(mappedIntervals(mapping, 12, 13)).toEqual([{ low: 9, high: 13 }]);
    expect(mappedIntervals(mapping, 15, 35)).toEqual([
      { low: 3, high: 4 },
      { low: 12, high: 20 },
    ]);
    expect(mappedIntervals(mapping, 21, 29)).toEqual([]);
  });

  test("partitions of an input are read by those whose ranges touch them", () => {
    const mapping = {
      node: "a",
      ranges: [
        { low: 10, high: 20, first: 7, last: 10, moves: true },
        { low: 30, high: 40, first: 3, last: 4, moves: false },
      ],
    };

    expect(readingIntervals(mapping, 9, 9)).toEqual([{ low: 10, high: 12 }]);
    expect(readingIntervals(mapping, 15, 16)).toEqual([{ low: 15, high: 19 }]);
    expect(readingIntervals(mapping, 4, 7)).toEqual([
      { low: 10, high: 10 },
      { low: 30, high: 40 },
    ]);
    expect(readingIntervals(mapping, 21, 30)).toEqual([]);
  });

  test("a partition reads another if and only if that one is read by it", () => {
    const mapping = {
      node: "a",
      ranges: [
        { low: 0, high: 6, first: 2, last: 4, moves: true },
        { low: 7, high: 9, first: 1, last: 3, moves: false },
      ],
    };
    const holds = (intervals: { low: number; high: number }[], at: number) =>
      intervals.some(({ low, high }) => low <= at && at <= high);

    for (let below = 0; below < 12; below += 1) {
      for (let above = 0; above < 12; above += 1) {
        expect(holds(readingIntervals(mapping, above, above), below)).toBe(
          holds(mappedIntervals(mapping, below, below), above),
        );
      }
    }
  });

  test("models that read marked partitions are listed with keys of their own grids", () => {
    const below = (name: string, grain: string, mappings: PartitionMapping[]) => ({
      ...JANUARY,
      ...{ name, grain, mappings },
    });
    const weekly = { low: 2817, high: 2820, first: FIRST, last: FIRST + 6, moves: false };

    const readers = [
      JANUARY,
      below("weekly", "week", [{ node: JANUARY.name, ranges: [weekly] }]),
      below("whole", "whole", []),
      below("all", "day", [{ node: JANUARY.name, ranges: [] }]),
      below("unknown", "day", []),
      below("none", "week", [{ node: JANUARY.name, ranges: [{ ...weekly, first: 0, last: 0 }] }]),
    ].map((reader) => mappedReader(reader, JANUARY.name, FIRST, FIRST + 1));

    expect(readers.map(({ node, words }) => [node, words])).toEqual([
      ["marts.revenue_by_day", "2024-01-02 to 2024-01-03"],
      ["weekly", "2024-01-01 to 2024-01-22"],
      ["whole", "all of it"],
      ["all", "all of it"],
      ["unknown", "not known"],
      ["none", "none"],
    ]);
  });

  test("inputs are listed with keys of their own grain", () => {
    expect(mappedInputs(JANUARY.mappings, PROJECT, FIRST + 2, FIRST + 3)).toEqual([
      { node: "countries", intervals: [], words: "all of it" },
      {
        node: "marts.revenue_by_day",
        intervals: [{ low: FIRST + 1, high: FIRST + 2 }],
        words: "2024-01-02 to 2024-01-03",
      },
    ]);
    expect(mappedInputs(JANUARY.mappings, PROJECT, FIRST, FIRST)[1]?.words).toBe("none");
  });
});

describe("colours", () => {
  const coloured = { document: JANUARY, project: PROJECT, codes: CODES };

  test("states stand most urgent first, with counts of partitions", () => {
    expect(colouring(coloured, "state")).toEqual({
      entries: [
        { label: "code changed", colour: "--state-sql_changed", sign: "Δ", count: 1 },
        { label: "never built", colour: "--state-never_run", sign: "○", count: 2 },
        { label: "current", colour: "--state-current", sign: "✓", count: 28 },
      ],
      entryOf: [2, 0, 1],
      ranges: JANUARY.ranges,
    });
  });

  test("what only waits for an upstream model is pending", () => {
    const document = { ...JANUARY, ranges: [range({ is_pending: true })] };

    expect(colouring({ ...coloured, document }, "state").entries[0]?.label).toBe("pending");
  });

  test("codes are named by their labels, and what was never built is not known", () => {
    expect(colouring(coloured, "code")).toEqual({
      entries: [
        { label: "v2", colour: "--ramp-1", sign: "", count: 28 },
        { label: "v1", colour: "--ramp-5", sign: "", count: 1 },
        { label: "not known", colour: "--state-not_effective", sign: "", count: 2 },
      ],
      entryOf: [0, 1, 2],
      ranges: JANUARY.ranges,
    });
  });

  test("many values share five steps", () => {
    const ranges = [range({ low: 0, high: 9, rows: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10] })];
    const { entries, entryOf } = colouring(
      { ...coloured, document: { ...JANUARY, ranges } },
      "rows",
    );

    expect(entries.map(({ label }) => label)).toEqual([
      "1 to 2",
      "3 to 4",
      "5 to 6",
      "7 to 8",
      "9 to 10",
    ]);
    expect(entryOf).toEqual([0, 0, 1, 1, 2, 2, 3, 3, 4, 4]);
  });

  test("age is counted from the time of the site", () => {
    const labels = colouring(coloured, "age").entries.map(({ label }) => label);

    expect(labels).toEqual(["2\u202fh", "1\u202fd", "not known"]);
  });

  test("only ways that tell something are offered", () => {
    expect(waysOf(coloured)).toEqual([
      "state",
      "version",
      "code",
      "age",
      "rows",
      "bytes",
      "seconds",
    ]);
    expect(
      waysOf({
        ...coloured,
        document: { ...JANUARY, ranges: [range({ version: null })], steps: [] },
      }),
    ).toEqual(["state"]);
  });
});

test("a point in a square finds its partition", () => {
  const block = blockAt(DAY, FIRST);
  const geo = geometry(DAY, block, 12);

  expect(positionUnder(block, geo, geo.left + 1, geo.top + 1)).toBe(FIRST);
  expect(positionUnder(block, geo, geo.left + 15, geo.top + 15)).toBe(FIRST + 8);
  expect(positionUnder(block, geo, 0, 0)).toBeNull();
});
