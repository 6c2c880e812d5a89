// @vitest-environment node
import { describe, expect, test } from "vitest";
import {
  isLate,
  modelNamed,
  modelState,
  modelsByState,
  nodeAddress,
  stateCounts,
  statesText,
} from "../../src/data/project";
import { modelRow, PROJECT } from "../fixtures";

const BY_WEEK = modelNamed(PROJECT, "marts.revenue_by_week") ?? modelRow({});
const RAW = PROJECT.sources[0];

describe("states of a model", () => {
  test("are counted most urgent first, pending ones by themselves", () => {
    expect(stateCounts(PROJECT, BY_WEEK)).toEqual([
      ["failed", 1],
      ["pending", 1],
      ["current", 3],
    ]);
  });

  test("are words in the same order", () => {
    expect(statesText(PROJECT, BY_WEEK)).toBe("1 failed, 1 pending, 3 current");
  });

  test("a model without partitions has no state to show", () => {
    expect(modelState(PROJECT, modelRow({ states: [] }))).toBe("not_effective");
  });

  test("models are counted by their most urgent state", () => {
    expect(modelsByState(PROJECT)).toEqual([
      ["failed", 1],
      ["sql_changed", 1],
      ["never_run", 1],
      ["current", 1],
    ]);
  });
});

test("nodes have addresses, unknown ones none", () => {
  const nodes = ["staging.events", "source:raw.events", "countries", "elsewhere"];

  expect(nodes.map((node) => nodeAddress(PROJECT, node))).toEqual([
    "#/model/staging.events",
    "#/sources?node=source%3Araw.events",
    "#/sources?node=countries",
    "",
  ]);
});

test("a source is late when its newest row is older than its limit", () => {
  if (!RAW) throw new Error("the project has a source");

  expect([
    isLate(RAW, "2024-01-31T12:00:00Z"),
    isLate(RAW, "2024-02-01T08:59:00Z"),
    isLate(RAW, "2024-02-01T08:59:01Z"),
    isLate({ ...RAW, limit: null }, "2024-12-31T00:00:00Z"),
    isLate({ ...RAW, newest_row_at: "" }, "2024-12-31T00:00:00Z"),
  ]).toEqual([false, false, true, false, false]);
});
