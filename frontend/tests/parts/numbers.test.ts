// @vitest-environment node
import { expect, test } from "vitest";
import { bytes, counted, number, seconds, share } from "../../src/parts/numbers";

const plain = (text: string) => text.replaceAll("\u202f", "_");

test.each([
  [null, "–"],
  [0, "0"],
  [999, "999"],
  [1000, "1_000"],
  [-1234567, "-1_234_567"],
  [12345.678, "12_345.678"],
])("number(%s) is %s", (value, text) => {
  expect(plain(number(value))).toBe(text);
});

test.each([
  [null, "–"],
  [0, "0_B"],
  [999, "999_B"],
  [1000, "1_kB"],
  [4_200_000, "4.2_MB"],
  [4_256_000, "4.26_MB"],
  [42_560_000, "42.6_MB"],
  [999_999, "1_MB"],
  [3e18, "3000_PB"],
])("bytes(%s) is %s", (value, text) => {
  expect(plain(bytes(value))).toBe(text);
});

test.each([
  [null, "–"],
  [0, "0_s"],
  [0.35, "350_ms"],
  [12.5, "12.5_s"],
  [12, "12_s"],
  [59.97, "1_min"],
  [75, "1_min 15_s"],
  [7500, "2_h 5_min"],
  [273_600, "3_d 4_h"],
])("seconds(%s) is %s", (value, text) => {
  expect(plain(seconds(value))).toBe(text);
});

test.each([
  [0, 0, "–"],
  [0, 10, "0_%"],
  [1, 10_000, "< 1_%"],
  [28, 31, "90_%"],
  [9_999, 10_000, "> 99_%"],
  [10, 10, "100_%"],
])("share(%s, %s) is %s", (part, all, text) => {
  expect(plain(share(part, all))).toBe(text);
});

test("counted uses the singular for one only", () => {
  expect([counted(0, "run"), counted(1, "run"), counted(2, "query", "queries")]).toEqual([
    "0 runs",
    "1 run",
    "2 queries",
  ]);
});
