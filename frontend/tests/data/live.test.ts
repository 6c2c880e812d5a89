// @vitest-environment node
import { beforeEach, describe, expect, test } from "vitest";
import type { Events } from "../../src/data/live";
import { changedChunks, followServer, isServed } from "../../src/data/live";

let opened: string[];
let heard: string[];
let events: Events & { readyState: number };

beforeEach(() => {
  opened = [];
  heard = [];
  events = {
    onopen: null,
    onerror: null,
    onmessage: null,
    readyState: 0,
    close: () => heard.push("closed"),
  };
});

function follow(served: boolean): () => void {
  const open = (address: string) => {
    opened.push(address);
    return events;
  };
  return followServer(
    served,
    open,
    (connection) => heard.push(connection),
    (names) => heard.push(`reload ${names.join(" ")}`),
    () => ["project", "model-3"],
  );
}

describe("followServer", () => {
  test("pages of a folder never ask", () => {
    follow(false)();

    expect(opened).toEqual([]);
  });

  test("loads the chunks again that a message names", () => {
    follow(true);
    events.onopen?.(new Event("open"));
    events.onmessage?.(new MessageEvent("message", { data: '{"chunks": ["project", "model-3"]}' }));

    expect(opened).toEqual(["events"]);
    expect(heard).toEqual(["open", "reload project model-3"]);
  });

  test("a host without events is left alone", () => {
    follow(true);
    events.readyState = 2;
    events.onerror?.(new Event("error"));

    expect(heard).toEqual(["closed"]);
  });

  test("says once that the server is gone, and catches up when it is back", () => {
    follow(true);
    events.onopen?.(new Event("open"));
    events.onerror?.(new Event("error"));
    events.onerror?.(new Event("error"));
    events.onopen?.(new Event("open"));

    expect(heard).toEqual(["open", "lost", "reload project model-3", "open"]);
  });
});

test("only pages of serve ask: generate names a folder of its own", () => {
  expect([
    isServed("http:", "data"),
    isServed("https:", "data-1a?2b"),
    isServed("file:", "data"),
  ]).toEqual([true, false, false]);
});

test("a message that is no list of chunks changes nothing", () => {
  expect(["", "{}", '{"chunks": 3}', "[1]"].map(changedChunks)).toEqual([[], [], [], []]);
});
