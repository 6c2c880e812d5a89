// @vitest-environment node
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { STATES, stateLook, urgency } from "../../src/parts/states";

const CSS = readFileSync("src/styles/tokens.css", "utf8");
const [LIGHT = "", DARK = ""] = CSS.split('[data-theme="dark"]');

function colours(theme: string): Map<string, string> {
  return new Map(
    [...theme.matchAll(/(--[\w-]+): (#[0-9a-f]{6});/g)].map((it) => [it[1] ?? "", it[2] ?? ""]),
  );
}

function luminance(colour: string): number {
  const parts = [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16) / 255);
  const [r = 0, g = 0, b = 0] = parts.map((it) =>
    it <= 0.04045 ? it / 12.92 : ((it + 0.055) / 1.055) ** 2.4,
  );
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function contrast(one: string, other: string): number {
  const [low = 0, high = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}

describe.each([
  ["light", LIGHT],
  ["dark", DARK],
])("the %s theme", (_, text) => {
  const theme = colours(text);
  const of = (name: string) => theme.get(name) ?? "#000000";

  test.each([
    "--ink",
    "--quiet",
    "--link",
    "--code-comment",
    "--code-keyword",
    "--code-text",
    "--code-number",
    "--code-name",
  ])("has %s readable on every ground", (name) => {
    for (const ground of ["--paper", "--panel", "--hover"]) {
      expect(contrast(of(name), of(ground))).toBeGreaterThan(4.5);
    }
  });

  test.each([
    "--ink",
    "--code-comment",
    "--code-keyword",
    "--code-text",
    "--code-number",
    "--code-name",
  ])("has %s readable in differences", (name) => {
    for (const ground of ["--added", "--removed"]) {
      expect(contrast(of(name), of(ground))).toBeGreaterThan(4.5);
    }
  });

  test.each(Object.keys(STATES))("shows %s against the page, and a sign on it", (state) => {
    const colour = of(`--state-${state}`);
    expect(contrast(colour, of("--paper"))).toBeGreaterThan(3);
    expect(contrast(colour, of("--on-state"))).toBeGreaterThan(3);
  });
});

test("every state has a sign of its own", () => {
  const signs = Object.values(STATES).map((it) => it.sign);
  expect(new Set(signs).size).toBe(signs.length);
});

test("results of runs look like states", () => {
  expect(stateLook("SUCCESS")).toEqual({
    words: "succeeded",
    sign: "✓",
    colour: "--state-current",
  });
});

test("an unknown state shows its name", () => {
  expect(stateLook("half_done")).toEqual({
    words: "half done",
    sign: "·",
    colour: "--state-unreadable",
  });
});

test("failed is more urgent than current, unknown states come last", () => {
  expect(["current", "odd", "failed"].sort((a, b) => urgency(a) - urgency(b))).toEqual([
    "failed",
    "current",
    "odd",
  ]);
});
