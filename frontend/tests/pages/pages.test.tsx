import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { ModelDocument } from "../../src/data/documents";
import { chunks, dataFolder } from "../../src/data/load";
import { App } from "../../src/shell/App";
import { PROJECT } from "../fixtures";

const BY_DAY: ModelDocument = {
  name: "marts.revenue_by_day",
  description_html: "<p>Money a day.</p>",
  place: "/lake/marts/revenue_by_day",
  exposures: ["weekly_sales"],
  columns: [
    {
      name: "total",
      type: "DECIMAL(10,2)",
      description_html: "",
      checks: ["total_is_positive"],
      origins: [{ node: "staging.events", column: "amount" }],
    },
    { name: "score", type: "INT", description_html: "", checks: [], origins: null },
  ],
  written: {
    id: "w",
    label: "as written",
    partitions: "",
    language: "sql",
    lines: ["select 1", "from a"],
  },
  codes: [
    { id: "c", label: "v1", partitions: "all", language: "sql", lines: ["select 2", "from a"] },
  ],
  executions: [
    {
      step: "s1",
      run: "run-1",
      partitions: "2024-01-31",
      status: "failed",
      started: "2024-01-31T10:00:00Z",
      seconds: 3,
      rows: null,
      bytes: null,
      table_version: null,
      versions_opened: null,
      versions_closed: null,
      code: "c",
      reason: "first build",
      error: "division by zero",
      hint: "",
    },
  ],
  checks: [
    {
      name: "total_is_positive",
      type: "sql",
      phase: "after",
      column: "total",
      on_failure: "block",
      description_html: "",
      evaluations: [
        {
          at: "2024-01-31T10:00:00Z",
          status: "failed",
          value: 3,
          limit: 0,
          step: "s1",
          sentence: "3 rows",
        },
      ],
      band: [],
    },
    {
      name: "usual",
      type: "anomaly",
      phase: "after",
      column: "",
      on_failure: "warning",
      description_html: "",
      evaluations: [],
      band: [
        { at: "2024-01-30", status: "passed", value: 1200, low: 1000, high: 1400 },
        { at: "2024-01-31", status: "failed", value: 0, low: 1003.21, high: 1398.79 },
      ],
    },
  ],
  slices: [],
  package: [],
};

const EVIL = '</script><img src="x" onerror="alert(1)">';
let place: HTMLElement;

async function open(hash: string, project = PROJECT): Promise<HTMLElement> {
  location.hash = hash;
  await act(() => render(<App />, place));
  await give("project", project);
  return place;
}

async function give(name: string, chunk: object): Promise<void> {
  await act(async () => {
    chunks.receive(name, chunk);
    await Promise.resolve();
  });
  await act(async () => {});
}

function text(selector: string): readonly string[] {
  return [...place.querySelectorAll(selector)].map((each) => each.textContent ?? "");
}

beforeEach(() => {
  vi.stubGlobal(
    "EventSource",
    class {
      close() {}
    },
  );
  vi.spyOn(document.head, "append").mockImplementation(() => {});
  place = document.createElement("div");
  document.body.append(place);
});

afterEach(() => {
  render(null, place);
  place.remove();
  chunks.reload(chunks.names());
});

describe("the overview", () => {
  test("shows what is wrong first, with the command that mends it", async () => {
    await open("#/");

    expect(document.title).toBe("Overview · shop · penstock");
    expect(text(".attention .node")).toEqual(["marts.revenue_by_week", "marts.revenue_by_day"]);
    expect(text(".attention .command code")[0]).toBe(
      "penstock sync --select marts.revenue_by_week",
    );
    expect(text(".run-bars li").length).toBe(2);
  });

  test("shows findings above everything, and texts of users as text", async () => {
    const notice = { code: "bad-sql", place: "a.sql:3", sentence: EVIL, hint: "", is_error: true };

    await open("#/", { ...PROJECT, notices: [notice] });

    expect(text(".notices li")).toEqual([`error a.sql:3 bad-sql: ${EVIL}`]);
    expect(place.querySelector("img")).toBeNull();
  });
});

test("models are filtered and sorted as the address says", async () => {
  await open("#/models?schema=marts&sort=-name");

  expect(text(".rows tbody td:first-child")).toEqual([
    "marts.revenue_by_week",
    "marts.revenue_by_day",
  ]);
  expect(place.querySelector('[aria-sort="descending"]')?.textContent).toBe("Name ↓");
  expect(text(".filters [role=status]")).toEqual(["2 of 4 models"]);
});

test("runs of one result are shown as the address says", async () => {
  await open("#/runs?status=failed");

  expect(text(".rows tbody td:last-child")).toEqual(["run-2"]);
  expect(text(".filters [role=status]")).toEqual(["1 run"]);
});

test("typing in the filter changes the address and the rows", async () => {
  await open("#/models");
  const field = place.querySelector<HTMLInputElement>(".filters input");
  if (!field) throw new Error("there is a field");

  field.value = "score";
  await act(() => void field.dispatchEvent(new Event("input", { bubbles: true })));

  expect(location.hash).toBe("#/models?find=score");
  expect(text(".rows tbody td:first-child")).toEqual(["scores"]);
});

describe("a model", () => {
  test("has tabs where it has something to show, and its neighbours at the side", async () => {
    await open("#/model/marts.revenue_by_day");
    await give("model-1", BY_DAY);

    expect(text("h1")).toEqual(["marts.revenue_by_day"]);
    expect(text("[role=tab]")).toEqual(["Columns", "Code", "Calendar", "Runs", "Checks"]);
    expect(text(".plain tbody tr").map((each) => each.replaceAll(/\s+/g, " "))).toEqual([
      "totalDECIMAL(10,2)✗failed total_is_positivestaging.events.amount",
      "scoreINTnot known",
    ]);
    expect(text("aside h2")).toEqual(["Lineage"]);
  });

  test("shows the difference of two texts", async () => {
    await open("#/model/marts.revenue_by_day?tab=code&text=w&with=c");
    await give("model-1", BY_DAY);

    expect(text(".difference > div")).toEqual([
      "−removed: select 1",
      "+added: select 2",
      " from a",
    ]);
  });

  test("shows both texts side by side", async () => {
    await open("#/model/marts.revenue_by_day?tab=code&text=w&with=c&view=side");
    await give("model-1", BY_DAY);

    expect(text(".two tbody tr")).toEqual(["−select 1+select 2", " from a from a"]);
  });

  test("shows why an execution failed", async () => {
    await open("#/model/marts.revenue_by_day?tab=runs");
    await give("model-1", BY_DAY);

    expect(text(".error")).toEqual(["division by zero"]);
  });

  test("prints all its tabs", async () => {
    await open("#/model/marts.revenue_by_day");
    await give("model-1", BY_DAY);

    await act(() => void dispatchEvent(new Event("beforeprint")));

    expect(text("article section > h2").slice(0, 2)).toEqual(["Columns", "Code"]);
    expect(text("[role=tab]")).toEqual([]);
  });

  test("says when its file changed: the page follows", async () => {
    await open("#/model/marts.revenue_by_day");
    await give("model-1", BY_DAY);

    await act(() => chunks.reload(["model-1"]));
    await give("model-1", { ...BY_DAY, columns: [], description_html: "<p>New.</p>" });

    expect(text(".model .prose")).toEqual(["New."]);
    expect(text("[role=tab]")).toEqual(["Code", "Calendar", "Runs", "Checks"]);
  });
});

describe("search", () => {
  test("opens with a slash, answers while typing, and Enter leads to the answer", async () => {
    await open("#/");
    await act(() => void dispatchEvent(new KeyboardEvent("keydown", { key: "/" })));
    const field = place.querySelector<HTMLInputElement>("dialog input");
    if (!field) throw new Error("there is a field");

    field.value = "rev";
    await act(() => void field.dispatchEvent(new Event("input", { bubbles: true })));
    expect(text("[role=option] strong")).toEqual(["marts.revenue_by_day", "marts.revenue_by_week"]);
    const press = (key: string) => () =>
      void field.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
    await act(press("ArrowDown"));
    await act(press("Enter"));

    expect(location.hash).toBe("#/model/marts.revenue_by_week");
    expect(text("dialog")).toEqual([]);
  });
});

test("sources show what reads them", async () => {
  await open("#/sources?node=countries");

  expect(text("article h2")).toEqual(["source:raw.events ", "countries "]);
  expect(text(".source.shown h2")).toEqual(["countries "]);
});

test.each([
  ["#/nonsense", "Unknown page"],
  ["#/model/none", "Unknown model"],
  ["#/run/none", "Unknown run"],
  ["#/runs", "Runs"],
])("%s is headed %s", async (hash, heading) => {
  await open(hash);

  expect(text("h1")).toEqual([heading]);
});

test("a run shows its result and what was typed", async () => {
  const run = {
    ...{ id: "run-1", command: "run", arguments: "run --select +scores", user: "ada", host: "lab" },
    ...{ started: "2024-01-31T10:00:00Z", ended: "2024-01-31T10:01:15Z", status: "success" },
    steps: [],
  };

  await open("#/run/run-1");
  await give("runs-0", { runs: [run] });

  expect(text("main > p .state")).toEqual(["✓succeeded"]);
  expect(text(".facts dd .command code")).toEqual(["penstock run --select +scores"]);
  expect(text(".facts dd").slice(2)).toEqual(["1\u202fmin 15\u202fs", "ada on lab"]);
});

test("the page names the folder of its data", () => {
  const meta = document.createElement("meta");
  meta.name = "penstock-data";
  meta.content = "data-1a2b";
  document.body.append(meta);

  expect(dataFolder()).toBe("data-1a2b");
  meta.remove();
  expect(dataFolder()).toBe("data");
});

test("a project of another format is refused in a sentence", async () => {
  await open("#/", { ...PROJECT, format: 99 });

  expect(text("[role=alert]")[0]).toContain("data/project.js has format 99");
});
