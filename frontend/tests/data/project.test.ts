// @vitest-environment node
import { describe, expect, test } from "vitest";
import {
  modelNamed,
  modelState,
  modelsByState,
  nodeAddress,
  stateCounts,
  statesText,
} from "../../src/data/project";
import { modelRow, PROJECT } from "../fixtures";

const BY_WEEK = modelNamed(PROJECT, "marts.revenue_by_week") ?? modelRow({});

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
