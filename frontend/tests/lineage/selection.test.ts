import { describe, expect, test } from "vitest";
import type { ModelRow, ProjectDocument } from "../../src/data/documents";
import { graphOf, graphOfParents } from "../../src/lineage/graph";
import { nearest, similarity } from "../../src/lineage/near";
import { SelectionError, select } from "../../src/lineage/selection";
import { modelRow, PROJECT } from "../fixtures";

const STATES = ["current", "sql_changed", "failed", "upstream_changed"];

function model(path: string, reads: string[], more: Partial<ModelRow> = {}): ModelRow {
  const [name = "", schema = ""] = path.split("/").reverse();
  const file = `models/${path}.sql`;
  return modelRow({
    name,
    schema,
    table: `${schema}.${name}`,
    file,
    reads,
    strategy: "view",
    ...more,
  });
}

function state(...indices: number[]): Pick<ModelRow, "states"> {
  return {
    states: indices.map((each) => ({
      state: each,
      count: 1,
      is_pending: each === 3,
      is_drifted: each === 1 || each === 2,
      because: [],
    })),
  };
}

/** The project of the same table of cases in tests/unit/project/test_selectors.py. */
const SHOP: ProjectDocument = {
  ...PROJECT,
  project: "shop",
  states: STATES,
  models: [
    model("staging/users", ["source:raw.events"], { tags: ["daily", "pii"], ...state(0) }),
    model("staging/orders", [], { tags: ["daily"], strategy: "table", ...state(1, 2) }),
    model("mart/joined", ["users", "orders"], state(3)),
    model("mart/deep/report", ["joined"], { tags: ["weekly"], ...state(0) }),
    model("mart/deep/other", ["orders"], state(0)),
  ],
  sources: PROJECT.sources.filter(({ node }) => node === "source:raw.events"),
};
const GRAPH = graphOf(SHOP);

function chosen(value: string): string[] {
  return [...select(SHOP, GRAPH, value).models].sort();
}

describe("the grammar", () => {
  test.each([
    ["users", ["users"]],
    ["USERS", ["users"]],
    ["staging.users", ["users"]],
    ["users orders", ["orders", "users"]],
    ["tag:daily,tag:pii", ["users"]],
    ["o*", ["orders", "other"]],
    ["?sers", ["users"]],
    ["[uo]*ers", ["orders", "users"]],
    ["name:[!u]*ers", ["orders"]],
    ["staging", ["orders", "users"]],
    ["staging.*", ["orders", "users"]],
    ["shop.mart", ["joined", "other", "report"]],
    ["mart.deep", ["other", "report"]],
    ["+joined", ["joined", "orders", "users"]],
    ["users+", ["joined", "report", "users"]],
    ["1+report", ["joined", "report"]],
    ["users+1", ["joined", "users"]],
    ["1+joined+1", ["joined", "orders", "report", "users"]],
    ["0+joined", ["joined"]],
    ["@users", ["joined", "orders", "report", "users"]],
    ["tag:d*", ["orders", "users"]],
    ["tag:weekly+", ["report"]],
    ["path:models/staging", ["orders", "users"]],
    ["path:models/mart/deep/*.sql", ["other", "report"]],
    ["models/staging/users.sql", ["users"]],
    ["name:joined", ["joined"]],
    ["kind:sql", ["joined", "orders", "other", "report", "users"]],
    ["strategy:table", ["orders"]],
    ["source:raw.events", ["users"]],
    ["source:raw", ["users"]],
    ["source:raw.events+", ["joined", "report", "users"]],
    ["source:raw.events+1", ["users"]],
    ["source:raw.events+2", ["joined", "users"]],
    ["state:drifted", ["joined", "orders"]],
    ["state:sql_changed", ["orders"]],
    ["state:failed+ tag:pii,+joined", ["joined", "orders", "other", "report", "users"]],
  ])("%s", (value, names) => {
    expect(chosen(value)).toEqual(names);
  });

  test("what a selection reaches upwards includes sources", () => {
    expect([...select(SHOP, GRAPH, "+users").nodes].sort()).toEqual(["source:raw.events", "users"]);
    expect([...select(SHOP, GRAPH, "users").nodes]).toEqual(["users"]);
  });
});

describe("what matches nothing is an error", () => {
  test.each([
    ["user", "'user' matches no model", "did you mean 'users'?"],
    ["nothing+", "'nothing+' matches no model", "there are: joined, orders, other, report, users"],
    ["tags:daily", "'tags' is not a selector method", "did you mean 'tag'?"],
    ["kind:python", "no model has kind 'python'; there are: sql", "penstock list"],
    ["source:raw.event", "'source:raw.event' matches no source", "did you mean 'raw.events'?"],
    ["tag:nothing", "no model has tag 'nothing'; there are: daily, pii, weekly", "penstock list"],
    ["tag:weekly,tag:pii", "no model matches all of 'tag:weekly,tag:pii'", ""],
    [
      "path:models/none",
      "'path:models/none' matches no model file",
      "did you mean 'models/staging'?",
    ],
    [
      "++",
      "'++' is not a selector",
      "for example name, +name, name+1, @name, tag:daily, path:models/staging",
    ],
    [
      "a++b",
      "'a++b' is not a selector",
      "for example name, +name, name+1, @name, tag:daily, path:models/staging",
    ],
    [
      "users,",
      "'' is not a selector",
      "for example name, +name, name+1, @name, tag:daily, path:models/staging",
    ],
    [" ", "the selector is empty", "--select NAME"],
    [
      "result:failed",
      "'result:failed' needs data that this site does not hold",
      "on the command line: penstock list --select 'result:failed'",
    ],
    [
      "state:modified",
      "'state:modified' needs data that this site does not hold",
      "on the command line: penstock list --select 'state:modified'",
    ],
  ])("%s", (value, sentence, hint) => {
    let caught: unknown;
    try {
      chosen(value);
    } catch (error) {
      caught = error;
    }

    expect(caught).toBeInstanceOf(SelectionError);
    expect([(caught as SelectionError).message, (caught as SelectionError).hint]).toEqual([
      sentence,
      hint,
    ]);
  });
});

test("similar names share runs of letters", () => {
  expect(similarity("users", "user")).toBeCloseTo(8 / 9);
  expect(nearest("taget", ["targets", "threads"])).toBe("targets");
  expect(nearest("xyz", ["targets"])).toBe("");
});

test("a graph leaves out inputs that are no nodes, and edges to itself", () => {
  const graph = graphOfParents(
    new Map([
      ["a", []],
      ["b", ["a", "a", "gone", "b"]],
    ]),
  );

  expect(graph.parents.get("b")).toEqual(["a"]);
  expect(graph.children.get("a")).toEqual(["b"]);
});
