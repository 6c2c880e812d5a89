import { afterEach, expect, test, vi } from "vitest";
import { allAsDots, makeAhead, projectGraph } from "../../src/lineage/ahead";
import { readSettings, sceneAsked } from "../../src/lineage/settings";
import { PROJECT } from "../fixtures";

afterEach(() => vi.unstubAllGlobals());

/** Give a browser that rests only when it is told to. */
function restingBrowser(): { waiting: (() => void)[]; rest: () => void } {
  const waiting: (() => void)[] = [];
  vi.stubGlobal("requestIdleCallback", (run: () => void) => waiting.push(run) - 1);
  vi.stubGlobal("cancelIdleCallback", (place: number) => waiting.splice(place, 1));
  return { waiting, rest: () => waiting.shift()?.() };
}

test("all nodes as dots are made once for each project", () => {
  const settings = readSettings(new URLSearchParams("view=dots"), 6);

  const scene = sceneAsked(PROJECT, projectGraph(PROJECT), settings);

  expect(scene.nodes).toHaveLength(6);
  expect(scene).toBe(allAsDots(PROJECT));
  expect(allAsDots({ ...PROJECT })).not.toBe(scene);
});

test("a browser that rests makes them in three parts", () => {
  const browser = restingBrowser();
  const project = { ...PROJECT };
  makeAhead(project);

  for (const left of [1, 1, 0]) {
    browser.rest();
    expect(browser.waiting).toHaveLength(left);
  }
  expect(allAsDots(project).nodes).toHaveLength(6);
});

test("nothing is made of a project that is no longer shown", () => {
  const browser = restingBrowser();
  const stop = makeAhead({ ...PROJECT });

  stop();

  expect(browser.waiting).toEqual([]);
});

test("a browser that cannot say that it rests makes nothing ahead", () => {
  vi.stubGlobal("requestIdleCallback", undefined);

  makeAhead(PROJECT)();

  expect(allAsDots(PROJECT).nodes).toHaveLength(6);
});
