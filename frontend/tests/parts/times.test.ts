// @vitest-environment node
import { expect, test } from "vitest";
import { absolute, relative, secondsBetween, utc } from "../../src/parts/times";

const NOW = new Date("2024-03-01T12:00:00Z");

test.each([
  ["", "–"],
  ["2024-03-01T11:59:31Z", "just now"],
  ["2024-03-01T11:58:59Z", "1 minute ago"],
  ["2024-03-01T09:00:00Z", "3 hours ago"],
  ["2024-02-28T12:00:00Z", "2 days ago"],
  ["2024-03-01T12:00:20Z", "in a moment"],
  ["2024-03-03T12:00:00Z", "in 2 days"],
])("relative(%s) is %s", (at, text) => {
  expect(relative(at, NOW)).toBe(text);
});

test.each([
  ["2024-01-31T23:30:00Z", "UTC", "2024-01-31 23:30:00"],
  ["2024-01-31T23:30:00Z", "Europe/Berlin", "2024-02-01 00:30:00"],
  ["2024-07-31T23:30:00Z", "Europe/Berlin", "2024-08-01 01:30:00"],
  ["2024-01-31T23:30:00Z", "Asia/Kolkata", "2024-02-01 05:00:00"],
  ["", "UTC", "–"],
])("absolute(%s) in %s is %s", (at, zone, text) => {
  expect(absolute(at, zone)).toBe(text);
});

test("utc names its zone", () => {
  expect([utc("2024-01-31T10:05:00Z"), utc("")]).toEqual(["2024-01-31 10:05:00 UTC", ""]);
});

test("secondsBetween needs both times", () => {
  expect([
    secondsBetween("2024-01-31T10:00:00Z", "2024-01-31T10:01:30Z"),
    secondsBetween("2024-01-31T10:00:00Z", ""),
  ]).toEqual([90, null]);
});
