import { render } from "preact";
import { act } from "preact/test-utils";
import { describe, expect, test } from "vitest";
import type { RunDocument, StepRow } from "../../src/data/documents";
import { RunTimeline } from "../../src/timeline/RunTimeline";
import { neighbour, pack, stepWords, ticks, timelineOf } from "../../src/timeline/timeline";
import { PROJECT } from "../fixtures";

function step(model: string, started: string, ended: string, more: Partial<StepRow> = {}): StepRow {
  const time = (text: string) => (text === "" ? "" : `2024-01-31T10:${text}Z`);
  return {
    step: `${model}@${started}`,
    model,
    partitions: "",
    status: "SUCCESS",
    rows: 10,
    bytes: null,
    table_version: 1,
    reason: "code changed",
    inputs: [],
    error: "",
    hint: "",
    ...more,
    started: time(started),
    ended: time(ended),
  };
}

/** Events take 10 s; revenue by day waits 5 s and fails; scores runs beside it; one is skipped. */
const RUN: RunDocument = {
  id: "run-2",
  command: "run",
  arguments: "",
  user: "anna",
  host: "box",
  started: "2024-01-31T10:00:00Z",
  ended: "2024-01-31T10:01:00Z",
  status: "FAILED",
  steps: [
    step("staging.events", "00:00", "00:10"),
    step("scores", "00:10", "00:40"),
    step("marts.revenue_by_day", "00:15", "01:00", {
      status: "FAILED",
      error: "division by zero",
      hint: "guard the divisor",
      partitions: "2024-01-31",
      inputs: [{ node: "staging.events", read: "v3", now: "v4" }],
    }),
    step("marts.revenue_by_week", "", "", { status: "SKIPPED" }),
  ],
};

describe("lanes", () => {
  test("a step takes the first lane that is free at its start", () => {
    const spans = [
      { from: 0, to: 10 },
      { from: 0, to: 4 },
      { from: 4, to: 6 },
      { from: 5, to: 7 },
      { from: 10, to: 12 },
    ];

    expect(pack(spans)).toEqual([0, 1, 1, 2, 0]);
  });

  test("steps that begin at once and take no time stand in lanes of their own", () => {
    expect(
      pack([
        { from: 0, to: 0 },
        { from: 0, to: 0 },
        { from: 1, to: 1 },
      ]),
    ).toEqual([0, 1, 0]);
  });

  test("no two steps of a lane overlap", () => {
    const spans = Array.from({ length: 300 }, (_, n) => ({ from: n, to: n + 1 + ((n * 7) % 13) }));
    const lanes = pack(spans);

    for (const [index, { from }] of spans.entries()) {
      const before = spans.slice(0, index).filter((_, each) => lanes[each] === lanes[index]);
      expect(before.every(({ to }) => to <= from)).toBe(true);
    }
  });
});

describe("time", () => {
  test("steps stand at seconds since the run began, and wait for their inputs", () => {
    const { placed, lanes, length, unplaced } = timelineOf(RUN, PROJECT);
    const shown = placed.map(({ step: { model }, from, to, lane, ready, waitFrom }) => [
      model,
      from,
      to,
      lane,
      ready,
      waitFrom,
    ]);

    expect(shown).toEqual([
      ["staging.events", 0, 10, 0, 0, 0],
      ["scores", 10, 40, 0, 10, 10],
      ["marts.revenue_by_day", 15, 60, 1, 10, 10],
    ]);
    expect([lanes, length, unplaced.map(({ model }) => model)]).toEqual([
      2,
      60,
      ["marts.revenue_by_week"],
    ]);
  });

  test("a step that waited while its lane was taken is drawn as waiting from the lane's end", () => {
    const steps = [
      step("staging.events", "00:00", "00:10"),
      step("scores", "00:10", "00:40"),
      step("marts.revenue_by_day", "00:45", "00:50"),
    ];
    const last = timelineOf({ ...RUN, steps }, PROJECT).placed[2];

    expect([last?.lane, last?.ready, last?.waitFrom]).toEqual([0, 10, 40]);
  });

  test("a step that runs reaches to the time of the site", () => {
    const steps = [step("scores", "00:10", "", { status: "RUNNING" })];
    const run = { ...RUN, ended: "", steps };

    expect(timelineOf(run, { ...PROJECT, made_at: "2024-01-31T10:02:00Z" }).placed[0]?.to).toBe(
      120,
    );
  });

  test("ticks are round and few", () => {
    expect(ticks(60, 6).map(({ text }) => text.replace("\u202f", " "))).toEqual([
      "0 s",
      "10 s",
      "20 s",
      "30 s",
      "40 s",
      "50 s",
      "1 min",
    ]);
    expect(ticks(9000, 6).map(({ at }) => at)).toEqual([0, 1800, 3600, 5400, 7200, 9000]);
    expect(ticks(0.3, 6).map(({ at }) => at)).toEqual([0, 0.1, 0.2, 0.3]);
  });

  test("arrow keys lead to steps before and after, and to other lanes", () => {
    const timeline = timelineOf(RUN, PROJECT);

    expect(neighbour(timeline, 0, "ArrowRight")).toBe(1);
    expect(neighbour(timeline, 1, "ArrowDown")).toBe(2);
    expect(neighbour(timeline, 2, "ArrowUp")).toBe(1);
    expect(neighbour(timeline, 2, "ArrowDown")).toBe(2);
    expect(neighbour(timeline, 2, "Home")).toBe(0);
    expect(neighbour(timeline, 0, "End")).toBe(2);
  });

  test("a step is a sentence", () => {
    const placed = timelineOf(RUN, PROJECT).placed[2];

    expect(placed && stepWords(placed, "failed").replaceAll("\u202f", " ")).toBe(
      "marts.revenue_by_day 2024-01-31: failed in 45 s, after waiting 5 s",
    );
  });
});

test("a click on a step shows its error, hint, inputs and how long it waited", () => {
  const root = document.createElement("div");
  act(() => render(<RunTimeline run={RUN} project={PROJECT} />, root));

  act(() => root.querySelector<HTMLElement>('[data-index="2"]')?.click());

  const panel = root.querySelector(".panel")?.textContent?.replaceAll("\u202f", " ");
  expect(panel).toContain("division by zeroHint: guard the divisor");
  expect(panel).toContain("Waited5 s since its last input ended");
  expect(panel).toContain("staging.eventsv3v4");
  expect(root.textContent).toContain("1 step did not begin: marts.revenue_by_week");
});
