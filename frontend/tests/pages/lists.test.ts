// @vitest-environment node
import { describe, expect, test } from "vitest";
import type { ExecutionRow } from "../../src/data/documents";
import { valueBand, valueLine } from "../../src/pages/checks";
import { executionLines, versionsByDay } from "../../src/pages/executions";
import { modelColumns } from "../../src/pages/ModelsPage";
import { choices, filterModels } from "../../src/pages/models";
import { calmSentence, runBars } from "../../src/pages/overview";
import { RUN_COLUMNS } from "../../src/pages/RunsPage";
import { byTime } from "../../src/pages/SlicesTab";
import { nextSort, sortByColumn } from "../../src/parts/Rows";
import { seenRows } from "../../src/parts/seen";
import { nextTab } from "../../src/parts/Tabs";
import { noticesTitle } from "../../src/shell/Notices";
import { modelRow, PROJECT, runRow } from "../fixtures";

function filtered(query: string): readonly string[] {
  return filterModels(PROJECT, new URLSearchParams(query)).map((each) => each.name);
}

function sorted(sort: string): readonly string[] {
  return sortByColumn(PROJECT.models, modelColumns(PROJECT), sort).map((each) => each.name);
}

describe("filterModels", () => {
  test.each([
    ["", ["marts.revenue_by_day", "marts.revenue_by_week", "scores", "staging.events"]],
    ["find=REV+week", ["marts.revenue_by_week"]],
    ["find=finance", ["marts.revenue_by_day", "marts.revenue_by_week"]],
    ["state=failed", ["marts.revenue_by_week"]],
    ["kind=python", ["scores"]],
    ["schema=marts&tag=daily", ["marts.revenue_by_day"]],
    ["tag=none", []],
  ])("%s", (query, names) => {
    expect(filtered(query)).toEqual(names);
  });
});

test("choices are states by urgency, and other values by name", () => {
  expect(choices(PROJECT, "state")).toEqual(["failed", "sql_changed", "never_run", "current"]);
  expect(choices(PROJECT, "tag")).toEqual(["daily", "finance", "hourly"]);
});

describe("models are sorted", () => {
  test("by name if the address says something else", () => {
    expect(sorted("nonsense")).toEqual([
      "marts.revenue_by_day",
      "marts.revenue_by_week",
      "scores",
      "staging.events",
    ]);
  });

  test("unknown numbers come last in both orders", () => {
    expect([sorted("rows"), sorted("-rows")]).toEqual([
      ["marts.revenue_by_week", "marts.revenue_by_day", "staging.events", "scores"],
      ["staging.events", "marts.revenue_by_day", "marts.revenue_by_week", "scores"],
    ]);
  });

  test("by state, most urgent first", () => {
    expect(sorted("state")[0]).toBe("marts.revenue_by_week");
  });

  test("5,000 models are filtered and sorted within a keystroke", () => {
    const models = Array.from({ length: 5000 }, (_, n) =>
      modelRow({ number: n, name: `schema_${n % 40}.model_${n}`, rows: n }),
    );
    const project = { ...PROJECT, models };

    const shown = sortByColumn(
      filterModels(project, new URLSearchParams("find=_7.")),
      modelColumns(project),
      "-rows",
    );

    expect(shown.length).toBe(125);
    expect(shown[0]?.name).toBe("schema_7.model_4967");
  });
});

test("a click on a column sorts by it, a second turns the order", () => {
  expect([
    nextSort("name", "rows", true),
    nextSort("-rows", "rows", true),
    nextSort("name", "kind", false),
    nextSort("kind", "kind", false),
  ]).toEqual(["-rows", "rows", "kind", "-kind"]);
});

test.each([
  [0, 300, 5000, { first: 0, end: 20 }],
  [3000, 300, 5000, { first: 90, end: 120 }],
  [149_700, 300, 5000, { first: 4980, end: 5000 }],
  [90_000, 300, 4, { first: 0, end: 4 }],
  [0, 300, 0, { first: 0, end: 0 }],
])("at %s of %s pixels, of %s rows %o are drawn", (top, height, count, seen) => {
  expect(seenRows(top, height, 30, count)).toEqual(seen);
});

test("arrows go round the tabs", () => {
  expect([
    nextTab("ArrowRight", 2, 3),
    nextTab("ArrowLeft", 0, 3),
    nextTab("Home", 2, 3),
    nextTab("End", 0, 3),
    nextTab("x", 0, 3),
  ]).toEqual([0, 2, 0, 2, -1]);
});

describe("the overview", () => {
  test("draws runs oldest first, as shares of the longest", () => {
    const running = runRow({ id: "run-3", ended: "", status: "running" });

    const bars = runBars([running, ...PROJECT.runs]);

    expect(bars.map(({ run, seconds, height }) => [run.id, seconds, height])).toEqual([
      ["run-1", 60, 1],
      ["run-2", 30, 0.5],
      ["run-3", null, 0],
    ]);
  });

  test("says one calm sentence, or why it cannot", () => {
    const finding = { code: "x", place: "", sentence: "", hint: "", is_error: true };
    const unbuilt = [modelRow({ name: "a" })];

    expect([
      calmSentence(PROJECT),
      calmSentence({ ...PROJECT, models: [] }),
      calmSentence({ ...PROJECT, notices: [finding] }),
      calmSentence({ ...PROJECT, models: unbuilt, runs: [] }),
    ]).toEqual([
      "Nothing needs attention in 4 models.",
      "This project has no models yet.",
      "Nothing else needs attention.",
      "Nothing has been built yet.",
    ]);
    expect(noticesTitle([finding, finding, { ...finding, is_error: false }])).toBe(
      "2 errors, 1 warning",
    );
  });
});

test("runs are sorted by the column that the address names", () => {
  const ids = (sort: string) =>
    sortByColumn(PROJECT.runs, RUN_COLUMNS, sort).map((each) => each.id);

  expect([ids("-started"), ids("-seconds")]).toEqual([
    ["run-2", "run-1"],
    ["run-1", "run-2"],
  ]);
});

test("the chart shows executions that succeeded, oldest first", () => {
  const row = (started: string, status: string, seconds: number, rows: number | null) =>
    ({ started, status, seconds, rows }) as ExecutionRow;

  const lines = executionLines([
    row("1970-01-01T00:00:30Z", "success", 3, null),
    row("1970-01-01T00:00:20Z", "failed", 9, 9),
    row("1970-01-01T00:00:10Z", "success", 1, 100),
  ]);

  expect(lines).toEqual({ times: [10, 30], seconds: [1, 3], rows: [100, null] });
});

test("versions that were opened and closed are summed by the days of the reader's zone", () => {
  const row = (started: string, versions_opened: number | null, versions_closed: number | null) =>
    ({ started, versions_opened, versions_closed }) as ExecutionRow;
  const executions = [
    row("2024-01-03T12:00:00Z", null, null),
    row("2024-01-02T23:30:00Z", 5, 1),
    row("2024-01-02T10:00:00Z", 10, null),
    row("2024-01-01T10:00:00Z", 0, 2),
  ];

  expect(versionsByDay(executions, "UTC")).toEqual({
    days: ["2024-01-01", "2024-01-02"],
    opened: [0, 15],
    closed: [2, 1],
  });
  expect(versionsByDay(executions, "Europe/Berlin")).toEqual({
    days: ["2024-01-01", "2024-01-02", "2024-01-03"],
    opened: [0, 10, 5],
    closed: [2, 0, 1],
  });
});

describe("valueLine", () => {
  const at = (value: number | null, limit: number | null) => ({
    at: "",
    status: "passed",
    value,
    limit,
    step: "",
    sentence: "",
  });

  test("draws values between their least and greatest, with the limit", () => {
    expect(valueLine([at(0, 10), at(null, null), at(5, 10), at(20, 10)])).toEqual({
      points: "0,28 50,21.5 100,2",
      limit: 15,
    });
  });

  test("values that never change are a line at the bottom", () => {
    expect(valueLine([at(3, null), at(3, null)])).toEqual({ points: "0,28 100,28", limit: null });
  });

  test("one value is no line", () => {
    expect(valueLine([at(3, 4)])).toBeNull();
  });
});

describe("valueBand", () => {
  const at = (day: number, value: number, low: number | null, high: number | null) => ({
    at: `2024-12-0${day}`,
    status: low !== null && value < low ? "failed" : "passed",
    value,
    low,
    high,
  });

  test("draws values, what was expected of them, and those that failed", () => {
    expect(valueBand([at(1, 5, null, null), at(2, 6, 4, 10), at(3, 0, 4, 10)])).toEqual({
      points: "0,15 50,12.4 100,28",
      band: "50,2 100,2 100,17.6 50,17.6",
      failed: [{ x: 100, y: 28, at: "2024-12-03" }],
    });
  });

  test("one value is no line", () => {
    expect(valueBand([at(1, 5, 4, 10)])).toBeNull();
  });
});

test("slices stand in the order of processing, waiting ones last", () => {
  const slice = (name: string, at: string) => ({
    name,
    at,
    status: "success",
    rows: null,
    why: "",
  });

  const names = byTime([
    slice("c", ""),
    slice("b", "2024-01-02T00:00:00Z"),
    slice("a", "2024-01-03T00:00:00Z"),
  ]);

  expect(names.map((each) => each.name)).toEqual(["b", "a", "c"]);
});
