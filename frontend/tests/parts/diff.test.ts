// @vitest-environment node
import { describe, expect, test } from "vitest";
import { lineDiff, sideBySide } from "../../src/parts/diff";

function signs(before: string, after: string): string {
  const lines = lineDiff(before.split(""), after.split(""));
  return lines
    .map(({ kind, line }) => `${{ same: " ", removed: "-", added: "+" }[kind]}${line}`)
    .join("");
}

describe("lineDiff", () => {
  test("keeps equal texts", () => {
    expect(signs("ab", "ab")).toBe(" a b");
  });

  test("shows one changed line as removed, then added", () => {
    expect(signs("axb", "ayb")).toBe(" a-x+y b");
  });

  test("finds an edit that is as short as can be", () => {
    expect(signs("abcabba", "cbabac")).toBe("-a-b c-a b+a b a+c");
  });

  test("shows a text that has no counterpart as added", () => {
    expect(lineDiff([], ["a"])).toEqual([{ kind: "added", line: "a" }]);
  });

  test("shows several changes at once", () => {
    expect(signs("abcdef", "aXcdeYf")).toBe(" a-b+X c d e+Y f");
  });

  test("gives back both texts, for any two", () => {
    let seed = 7;
    const letter = () => {
      seed = (seed * 1103515245 + 12345) % 2147483648;
      return "abc"[seed % 3] ?? "a";
    };
    for (let size = 0; size < 40; size += 1) {
      const before = Array.from({ length: size }, letter);
      const after = Array.from({ length: 40 - size }, letter);
      const lines = lineDiff(before, after);
      expect(lines.filter((each) => each.kind !== "added").map((each) => each.line)).toEqual(
        before,
      );
      expect(lines.filter((each) => each.kind !== "removed").map((each) => each.line)).toEqual(
        after,
      );
    }
  });

  test("shows thousands of differing lines as removed and added, without looking for common ones", () => {
    const before = Array.from({ length: 2001 }, (_, n) => `old ${n}`);
    const after = Array.from({ length: 2001 }, (_, n) => `new ${n}`);

    const lines = lineDiff(before, after);

    expect(lines.length).toBe(4002);
    expect(lines[2001]).toEqual({ kind: "added", line: "new 0" });
  });
});

describe("sideBySide", () => {
  test("pairs removed lines with added ones and leaves gaps", () => {
    expect(sideBySide(lineDiff(["a", "b", "c"], ["a", "x", "y", "c"]))).toEqual([
      { before: "a", after: "a", isSame: true },
      { before: "b", after: "x", isSame: false },
      { before: null, after: "y", isSame: false },
      { before: "c", after: "c", isSame: true },
    ]);
  });
});
