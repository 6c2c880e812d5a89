// @vitest-environment node
import { describe, expect, test } from "vitest";
import { address, changed, readRoute, title } from "../../src/shell/route";

function read(hash: string): [string, string, string] {
  const { page, name, query } = readRoute(hash);
  return [page, name, query.toString()];
}

describe("readRoute", () => {
  test.each([
    ["", "overview", "", ""],
    ["#/", "overview", "", ""],
    ["#/models?state=failed&sort=name", "models", "", "state=failed&sort=name"],
    ["#/model/marts.orders?tab=calendar", "model", "marts.orders", "tab=calendar"],
    ["#/lineage?select=%2Bmarts.orders", "lineage", "", "select=%2Bmarts.orders"],
    ["#/run/2024-01-31T10", "run", "2024-01-31T10", ""],
    ["#/sources", "sources", "", ""],
    ["#/nonsense", "unknown", "#/nonsense", ""],
    ["#/model", "unknown", "#/model", ""],
    ["#/models/extra", "unknown", "#/models/extra", ""],
    ["#/model/%", "unknown", "#/model/%", ""],
  ])("reads %s", (hash, page, name, query) => {
    expect(read(hash)).toEqual([page, name, query]);
  });

  test("names with slashes, questions and quotes survive", () => {
    const name = `a/b?c#d"e</script>é`;

    expect(read(address("model", name, { tab: "code" }))).toEqual(["model", name, "tab=code"]);
  });
});

test("changed keeps the other values and removes those that are null", () => {
  const route = readRoute("#/models?find=rev&state=failed");

  expect(changed(route, { state: null, sort: "rows" })).toBe("#/models?find=rev&sort=rows");
});

test("titles name the page first", () => {
  expect(
    ["#/", "#/model/marts.orders", "#/run/r1", "#/x"].map((it) => title(readRoute(it), "shop")),
  ).toEqual([
    "Overview · shop · penstock",
    "marts.orders · shop · penstock",
    "Run r1 · shop · penstock",
    "Unknown page · shop · penstock",
  ]);
});
