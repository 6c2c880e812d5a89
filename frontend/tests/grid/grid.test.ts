import { describe, expect, test } from "vitest";
import { civilDate, dayNumber, firstIsoMonday, isoWeek, weekday } from "../../src/grid/dates";
import { type Grain, type Grid, gridOf, keyOf, keysOf, nameOf } from "../../src/grid/grid";

const grid = (grain: Grain, start = 0, width = 1): Grid => ({ grain, start, width });

test.each([
  ["DAY", grid("day")],
  ["day", grid("day")],
  ["*", grid("whole")],
  ["RANGE(-10,90,5)", grid("range", -10, 5)],
  ["nonsense", grid("whole")],
])("the grain %s is read", (grain, expected) => {
  expect(gridOf({ grain })).toEqual(expected);
});

describe("dates", () => {
  test.each([
    [1970, 1, 1, 0, 3],
    [1970, 1, 5, 4, 0],
    [2024, 1, 1, 19_723, 0],
    [2024, 2, 29, 19_782, 3],
    [2023, 12, 31, 19_722, 6],
    [1969, 12, 31, -1, 2],
    [2100, 3, 1, 47_541, 0],
    [1, 1, 1, -719_162, 0],
    [9999, 12, 31, 2_932_896, 4],
  ])("%i-%i-%i is day %i, weekday %i", (year, month, day, number, onWeekday) => {
    expect(dayNumber(year, month, day)).toBe(number);
    expect(civilDate(number)).toEqual({ year, month, day });
    expect(weekday(number)).toBe(onWeekday);
  });

  test("a year has 366 days if it is a leap year; 1900 and 2100 are not, 2000 is", () => {
    const lengths = [1900, 2000, 2023, 2024, 2100].map(
      (year) => dayNumber(year + 1) - dayNumber(year),
    );

    expect(lengths).toEqual([365, 366, 365, 366, 365]);
  });

  test.each([
    [2023, 12, 31, 2023, 52],
    [2024, 12, 30, 2025, 1],
    [2012, 1, 1, 2011, 52],
    [2021, 1, 3, 2020, 53],
    [1969, 12, 31, 1970, 1],
  ])("%i-%i-%i is in ISO year %i, week %i", (year, month, day, isoYear, week) => {
    expect(isoWeek(dayNumber(year, month, day))).toEqual({ year: isoYear, week });
  });

  test("the first ISO week may begin in the year before", () => {
    expect(civilDate(firstIsoMonday(2025))).toEqual({ year: 2024, month: 12, day: 30 });
  });
});

describe("keys", () => {
  test.each<[Grid, number, string]>([
    [grid("hour"), 19_724 * 24 + 10, "2024-01-02T10"],
    [grid("hour"), -1, "1969-12-31T23"],
    [grid("day"), 19_724, "2024-01-02"],
    [grid("day"), -719_162, "0001-01-01"],
    [grid("week"), 0, "1970-01-05"],
    [grid("week"), 2817, "2024-01-01"],
    [grid("week"), -1, "1969-12-29"],
    [grid("month"), 24_288, "2024-01"],
    [grid("month"), 24_299, "2024-12"],
    [grid("year"), 2024, "2024"],
    [grid("year"), 33, "0033"],
    [grid("range", 0, 10), 1, "10"],
    [grid("range", -100, 50), 0, "-100"],
    [grid("whole"), 0, "*"],
  ])("of %o, partition %i is %s", (of, position, key) => {
    expect(keyOf(of, position)).toBe(key);
  });

  test("names say what a key leaves out", () => {
    expect(nameOf(grid("day"), 19_724)).toBe("Tuesday, 2024-01-02");
    expect(nameOf(grid("week"), 2817)).toBe("2024-01-01, week 1 of 2024");
    expect(nameOf(grid("hour"), 19_724 * 24 + 9)).toBe("2024-01-02, 09:00 UTC");
    expect(nameOf(grid("range", 0, 10), 1)).toBe("10 to 19");
    expect(nameOf(grid("whole"), 0)).toBe("the whole table");
    expect(nameOf(grid("month"), 24_288)).toBe("2024-01");
  });

  test("several partitions are the first to the last", () => {
    expect(keysOf(grid("day"), 19_724, 19_724)).toBe("2024-01-02");
    expect(keysOf(grid("day"), 19_724, 19_726)).toBe("2024-01-02 to 2024-01-04");
  });

  test("a grain that is not known counts as one whole table", () => {
    expect(gridOf({ grain: "century" })).toEqual({ grain: "whole", start: 0, width: 1 });
    expect(gridOf({ grain: "range", start: 5, width: 10 })).toEqual(grid("range", 5, 10));
  });
});
