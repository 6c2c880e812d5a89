import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, expect, test } from "vitest";
import { LineagePage } from "../../src/lineage/LineagePage";
import { Neighbours } from "../../src/lineage/Neighbours";
import { PROJECT } from "../fixtures";

const root = document.createElement("div");
afterEach(() => act(() => render(null, root)));

function show(address: string) {
  const asked: Record<string, string | null>[] = [];
  const page = (
    <LineagePage
      project={PROJECT}
      query={new URLSearchParams(address)}
      go={(changes) => asked.push(changes)}
      columns={async () => null}
    />
  );
  act(() => render(page, root));
  return asked;
}

function nodes(): (string | null)[] {
  return [...root.querySelectorAll(".lineage-node")].map((each) => each.textContent);
}

test("a selection shows its nodes as buttons, and a click grows the graph", () => {
  const asked = show("select=1%2Bscores");

  expect(nodes()).toEqual(["scores, python, never built", "staging.events, sql, current"]);
  act(() => root.querySelectorAll<HTMLElement>(".lineage-node")[1]?.click());
  expect(asked).toEqual([{ node: "staging.events", column: null, grow: "staging.events" }]);
});

test("a selection that matches nothing says so with a hint", () => {
  show("select=score");

  expect(root.querySelector('[role="alert"]')?.textContent).toBe(
    "'score' matches no model Hint: did you mean 'scores'?",
  );
});

test("a schema opens by a click", () => {
  const asked = show("view=schemas");

  const marts = [...root.querySelectorAll<HTMLElement>(".lineage-node")].find((each) =>
    each.textContent?.startsWith("schema marts"),
  );
  act(() => marts?.click());
  expect(asked).toEqual([{ view: "schemas", open: "schema%20marts" }]);
});

test("the selection goes into the address", () => {
  const asked = show("");

  const input = root.querySelector("input") as HTMLInputElement;
  act(() => {
    input.value = "tag:daily";
    input.dispatchEvent(new Event("input", { bubbles: true }));
  });
  act(() => {
    root
      .querySelector("form")
      ?.dispatchEvent(new Event("submit", { bubbles: true, cancelable: true }));
  });
  expect(asked).toEqual([
    {
      select: "tag:daily",
      ...{ depth: null, grow: null, open: null, view: null, node: null, column: null },
    },
  ]);
});

test("a model's neighbours are what it reads and what reads it", () => {
  act(() => render(<Neighbours project={PROJECT} node="marts.revenue_by_day" />, root));

  const names = [...root.querySelectorAll("a")].map((each) => each.textContent);
  expect(names).toEqual(["staging.events", "countries", "marts.revenue_by_week"]);
});
