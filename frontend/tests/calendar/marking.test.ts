import { describe, expect, test } from "vitest";
import { type Marking, type Pointed, point, press, startAt } from "../../src/calendar/marking";
import { gridOf } from "../../src/grid/grid";

const YEAR = gridOf({ grain: "year" });
const ALL = [{ low: 2000, high: 2030 }];

function pressed(marking: Marking, ...keys: string[]): Marking | null {
  let now: Marking | null = marking;
  for (const each of keys) {
    const [key = "", shift] = each.split("+").reverse();
    const event = {
      key,
      shiftKey: shift === "Shift",
      ctrlKey: shift === "Control",
      metaKey: false,
    };
    now = now && press(now, event, YEAR, ALL);
  }
  return now;
}

function pointed(
  marking: Marking,
  ...events: (Partial<Pointed> & Pick<Pointed, "kind">)[]
): Marking {
  return events.reduce(
    (now, event) => point(now, { at: null, shiftKey: false, isHeld: false, ...event }),
    marking,
  );
}

describe("keys", () => {
  test("arrows move, and forget what was marked", () => {
    expect(pressed(startAt(2024), "Shift+ArrowRight", "ArrowLeft")).toEqual(startAt(2024));
  });

  test("Shift and arrows mark, and Enter opens what is marked", () => {
    expect(pressed(startAt(2024), "Shift+ArrowLeft", "Shift+ArrowLeft", "Enter")).toEqual({
      ...startAt(2022),
      anchor: 2024,
      opened: { low: 2022, high: 2024 },
    });
  });

  test("Escape forgets what is marked", () => {
    expect(pressed(startAt(2024), "Shift+ArrowLeft", "Escape")).toEqual(startAt(2023));
  });

  test("Control with Home and End lead to the ends", () => {
    expect(pressed(startAt(2024), "Control+Home")?.cursor).toBe(2000);
    expect(pressed(startAt(2004), "Control+End")?.cursor).toBe(2030);
  });

  test("other keys are left to the browser", () => {
    expect(pressed(startAt(2024), "a")).toBeNull();
  });
});

describe("pointer", () => {
  test("a click opens one partition", () => {
    const after = pointed(startAt(2000), { kind: "down", at: 2010 }, { kind: "up", at: 2010 });

    expect(after).toEqual({ ...startAt(2010), hovered: 2010, opened: { low: 2010, high: 2010 } });
  });

  test("a drag opens what it passed over", () => {
    const after = pointed(
      startAt(2000),
      { kind: "down", at: 2010 },
      { kind: "move", at: 2007, isHeld: true },
      { kind: "up", at: 2005 },
    );

    expect(after.opened).toEqual({ low: 2005, high: 2010 });
  });

  test("a click with Shift marks from the last one", () => {
    const after = pointed(
      startAt(2003),
      { kind: "down", at: 2010, shiftKey: true },
      { kind: "up", at: 2010, shiftKey: true },
    );

    expect(after.opened).toEqual({ low: 2003, high: 2010 });
  });

  test("moving without a button only looks", () => {
    const after = pointed(startAt(2000), { kind: "move", at: 2010 });

    expect(after).toEqual({ ...startAt(2000), hovered: 2010 });
    expect(pointed(after, { kind: "leave" })).toEqual(startAt(2000));
  });
});
