// @vitest-environment node
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { inWords, STATES, stateLook, urgency } from "../../src/parts/states";

const CSS = readFileSync("src/styles/tokens.css", "utf8");
const [LIGHT = "", DARK = ""] = CSS.split('[data-theme="dark"]');

function colours(theme: string): Map<string, string> {
  return new Map(
    [...theme.matchAll(/(--[\w-]+): (#[0-9a-f]{6});/g)].map((it) => [it[1] ?? "", it[2] ?? ""]),
  );
}

/** Return the linear light of a colour's red, green and blue. */
function channels(colour: string): readonly number[] {
  const parts = [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16) / 255);
  return parts.map((it) => (it <= 0.04045 ? it / 12.92 : ((it + 0.055) / 1.055) ** 2.4));
}

function luminance(colour: string): number {
  const [r = 0, g = 0, b = 0] = channels(colour);
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

/** What people see: all colours, no red, no green (Machado and others, 2009). */
const VISIONS: Readonly<Record<string, readonly (readonly number[])[]>> = {
  all: [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ],
  "no red": [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  "no green": [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
};

/** Return a colour in CIE L*a*b*, in which distances are about what people see. */
function seenColour(colour: string, vision: string): readonly number[] {
  const light = channels(colour);
  const [r = 0, g = 0, b = 0] = (VISIONS[vision] ?? []).map((row) => {
    const sum = row.reduce((all, weight, n) => all + weight * (light[n] ?? 0), 0);
    return Math.max(0, Math.min(1, sum));
  });
  const root = (t: number) => (t > 0.008856 ? Math.cbrt(t) : 7.787 * t + 16 / 116);
  const x = root((0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505);
  const y = root(0.2126 * r + 0.7152 * g + 0.0722 * b);
  const z = root((0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.089);
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

describe.each([
  ["light", LIGHT],
  ["dark", DARK],
])("the states of the %s theme", (_, text) => {
  const theme = colours(text);

  test.each(Object.keys(VISIONS))("are told apart by eyes that see %s", (vision) => {
    const names = Object.keys(STATES);
    const seen = names.map((name) => seenColour(theme.get(`--state-${name}`) ?? "", vision));
    for (const [n, one] of seen.entries()) {
      for (const [m, other] of seen.entries()) {
        if (m <= n) continue;
        const distance = Math.hypot(...one.map((part, at) => part - (other[at] ?? 0)));
        const least = names[n] === "current" || names[m] === "current" ? 19 : 12;
        expect(distance, `${names[n]} and ${names[m]}`).toBeGreaterThan(least);
      }
    }
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

test("a reason is in the words of its states", () => {
  expect(inWords("never_run, then sql_changed of my_model")).toBe(
    "never built, then code changed of my_model",
  );
});
