// @vitest-environment node
import { beforeEach, describe, expect, test } from "vitest";
import { Chunks, unpacked } from "../../src/data/load";
import { PROJECT } from "../fixtures";

let scripts: { address: string; failed: () => void }[];
let chunks: Chunks;

beforeEach(() => {
  scripts = [];
  chunks = new Chunks(
    () => "data-1a?2b",
    (address, failed) => scripts.push({ address, failed }),
  );
});

function addresses(): string[] {
  return scripts.map((each) => each.address);
}

describe("Chunks", () => {
  test("loads each chunk once", async () => {
    const first = chunks.load("project");
    chunks.receive("project", PROJECT);

    expect(await first).toEqual(PROJECT);
    expect(await chunks.load("project")).toBe(await first);
    expect(addresses()).toEqual(["data-1a/project.js?2b"]);
  });

  test("says which file is missing, and asks again the next time", async () => {
    const first = chunks.load("model-3");
    scripts[0]?.failed();

    await expect(first).rejects.toThrow(
      "data-1a/model-3.js cannot be loaded; reload the page, or run `penstock docs generate` again",
    );
    chunks.load("model-3");
    expect(addresses()).toEqual(["data-1a/model-3.js?2b", "data-1a/model-3.js?2b"]);
  });

  test("refuses a project of another format", async () => {
    const first = chunks.load("project");
    chunks.receive("project", { ...PROJECT, format: 3 });

    await expect(first).rejects.toThrow(
      "this page reads data of format 2, but data-1a/project.js has format 3; " +
        "run `penstock docs generate` again",
    );
  });

  test("tells followers what to load again, past the cache", async () => {
    const heard: (readonly string[])[] = [];
    const unfollow = chunks.follow((names) => heard.push(names));
    const first = chunks.load("search");
    chunks.receive("search", { texts: [] } as never);
    await first;
    await Promise.resolve();

    chunks.reload(["search"]);
    chunks.load("search");
    unfollow();
    chunks.reload(["project"]);

    expect(heard).toEqual([["search"]]);
    expect(addresses()).toEqual(["data-1a/search.js?2b", "data-1a/search.js?1"]);
  });

  test("a chunk that changes while it loads is loaded after that", async () => {
    const old = chunks.load("search");
    chunks.reload(["search"]);
    const fresh = chunks.load("search");
    expect(addresses()).toEqual(["data-1a/search.js?2b"]);

    chunks.receive("search", { texts: ["old"] } as never);
    expect(await old).toEqual({ texts: ["old"] });
    await Promise.resolve();
    chunks.receive("search", { texts: ["new"] } as never);

    expect(await fresh).toEqual({ texts: ["new"] });
    expect(addresses()).toEqual(["data-1a/search.js?2b", "data-1a/search.js?1"]);
  });
});

test("rows are rows again, however their values were written", () => {
  const packed = {
    rows: {
      "#": 3,
      name: ["a", "b", "c"],
      state: { of: ["current", null], at: [0, 1, 0] },
      inputs: { of: [{ "#": 2, node: ["x", "y"], now: { of: ["v1"] } }] },
      one: [[{ low: 1 }], [], [{ low: 2 }]],
    },
    lines: ["a"],
    nothing: null,
  };

  const inputs = [
    { node: "x", now: "v1" },
    { node: "y", now: "v1" },
  ];
  expect(unpacked(packed)).toEqual({
    rows: [
      { name: "a", state: "current", inputs, one: [{ low: 1 }] },
      { name: "b", state: null, inputs, one: [] },
      { name: "c", state: "current", inputs, one: [{ low: 2 }] },
    ],
    lines: ["a"],
    nothing: null,
  });
});
