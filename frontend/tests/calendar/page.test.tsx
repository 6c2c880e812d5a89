import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Calendar } from "../../src/calendar/Calendar";
import type { PartitionsDocument } from "../../src/data/documents";
import { chunks } from "../../src/data/load";
import { modelRow, PROJECT } from "../fixtures";
import { CODES, FIRST, JANUARY } from "./fixtures";

let root: HTMLElement;
beforeEach(() => {
  vi.spyOn(document.head, "append").mockImplementation((script) => {
    (script as Element).dispatchEvent(new Event("error"));
  });
  root = document.createElement("div");
  document.body.append(root);
});
afterEach(() => {
  render(null, root);
  root.remove();
  chunks.reload(chunks.names());
});

function show(partitions: PartitionsDocument, project = PROJECT): void {
  const model = modelRow({ name: partitions.name, partitions: 31 });
  act(() =>
    render(
      <Calendar model={model} partitions={partitions} project={project} codes={CODES} />,
      root,
    ),
  );
}

function text(selector: string): string {
  return root.querySelector(selector)?.textContent ?? "";
}

function key(name: string, more: KeyboardEventInit = {}): void {
  const grid = root.querySelector('[role="grid"]');
  act(() => {
    grid?.dispatchEvent(new KeyboardEvent("keydown", { key: name, bubbles: true, ...more }));
  });
}

test("the keyboard reaches a partition, opens it and closes it", () => {
  show(JANUARY);

  expect(text("#calendar-cell")).toBe("2024-01-31");
  key("ArrowUp");
  key("ArrowUp");
  expect(text(".calendar-sentence")).toContain("Monday, 2024-01-29: code changed");
  key("Enter");
  expect(text(".panel h3")).toBe("Monday, 2024-01-29");
  expect(text(".panel p")).toContain(
    "penstock sync --select marts.revenue_by_day --from 2024-01-29 --to 2024-01-29",
  );
  expect(root.querySelector('.panel a[href="#/run/run-0"]')?.textContent).toBe("run-0");
  expect(text(".removed")).toBe("−removed: select b");
  expect(text(".added")).toBe("+added: select a");
  act(() => root.querySelector<HTMLElement>(".panel-close")?.click());
  expect(root.querySelector(".panel")).toBeNull();
});

test("an open partition loads the models that read it, and lists their partitions", async () => {
  vi.spyOn(document.head, "append").mockImplementation(() => {});
  show(JANUARY);
  expect(chunks.names()).toEqual([]);

  key("Enter");
  expect(chunks.names()).toEqual(["partitions-1", "partitions-2"]);
  const ranges = [{ low: 2821, high: 2821, first: FIRST + 28, last: FIRST + 34, moves: false }];
  const mappings = [{ node: "marts.revenue_by_day", ranges }];
  const weeks: object = { ...JANUARY, name: "marts.revenue_by_week", grain: "week", mappings };
  chunks.receive("partitions-2", weeks);
  await act(() => new Promise((done) => setTimeout(done)));

  const lists = [...root.querySelectorAll(".panel ul")].map((each) => each.textContent);
  expect(lists.at(-1)).toContain("marts.revenue_by_week: 2024-01-29");
});

test("a marked range shows its command and counts", () => {
  show(JANUARY);

  key("ArrowLeft", { shiftKey: true });
  key("Enter");

  expect(text(".panel h3")).toBe("2024-01-24 to 2024-01-31");
  expect(text(".panel dl")).toContain("1 code changed");
  expect(text(".panel dl")).toContain("Rows230");
});

test("a partition has its own rows, and those of its step where they are not known", () => {
  show(JANUARY);

  key("ArrowUp");
  key("ArrowUp");
  key("Enter");
  expect(text(".panel dl")).toContain("Rows100Size– in its step");
});

test("a table that penstock does not know is not repaired by a sync", () => {
  const [first] = JANUARY.ranges;
  const ranges = [{ ...(first as (typeof JANUARY.ranges)[0]), state: 4 }];
  const states = [...PROJECT.states, "unrecorded"];
  const command = "penstock state rebuild";
  const attention = [{ kind: "unrecorded", node: JANUARY.name, sentence: "", command }];
  show({ ...JANUARY, ranges }, { ...PROJECT, states, attention });

  key("Enter");

  expect(text(".panel .command code")).toBe(command);
});

test("the legend follows the way to colour", () => {
  show(JANUARY);
  const select = root.querySelector("select") as HTMLSelectElement;

  act(() => {
    select.value = "code";
    select.dispatchEvent(new Event("change", { bubbles: true }));
  });

  expect(text('ul[aria-label="Legend"]')).toBe(" v2 28 v1 1 not known 2");
});

test("a model without partitions says so", () => {
  show({ ...JANUARY, ranges: [], steps: [] });

  expect(root.textContent).toBe("This model has no partitions yet.");
});
