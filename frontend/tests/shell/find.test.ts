// @vitest-environment node
import { describe, expect, test } from "vitest";
import type { FoundText } from "../../src/data/documents";
import { findNames, findTexts, indexTexts, snippet } from "../../src/shell/find";
import { PROJECT } from "../fixtures";

const found = (node: string, part: string, name: string, text = ""): FoundText => ({
  node,
  part,
  name,
  text,
});

const DAY = "marts.revenue_by_day";
const TEXTS = [
  found(DAY, "model", DAY),
  found("marts.revenue_by_week", "model", "marts.revenue_by_week"),
  found(DAY, "column", "net_revenue", "Revenue without taxes."),
  found(DAY, "tag", "finance"),
  found(DAY, "code", "v2", "select sum(amount) as net_revenue from staging.events"),
  found("source:raw.events", "source", "source:raw.events", "Events as they arrive."),
];

async function find(wanted: string): Promise<readonly string[]> {
  const answers = findTexts(await indexTexts(TEXTS), TEXTS, wanted, PROJECT);
  return answers.map(({ found: { part, name } }) => `${part} ${name}`);
}

describe("search", () => {
  test("finds models by the beginnings of their words", async () => {
    expect(await find("rev day")).toEqual(["model marts.revenue_by_day"]);
  });

  test("finds a column before the code that names it", async () => {
    expect(await find("net_revenue")).toEqual(["column net_revenue", "code v2"]);
  });

  test("finds words with one wrong letter", async () => {
    expect(await find("arrivee")).toEqual(["source source:raw.events"]);
  });

  test("leads to the page and its tab", async () => {
    const index = await indexTexts(TEXTS);

    const addresses = ["net_revenue", "finance", "arrive"].map(
      (wanted) => findTexts(index, TEXTS, wanted, PROJECT)[0]?.href,
    );

    expect(addresses).toEqual([
      "#/model/marts.revenue_by_day?tab=columns",
      "#/models?tag=finance",
      "#/sources?node=source%3Araw.events",
    ]);
  });

  test("finds names before there is an index", () => {
    expect(findNames(PROJECT, "REV week").map((each) => each.href)).toEqual([
      "#/model/marts.revenue_by_week",
    ]);
  });
});

describe("snippet", () => {
  test("cuts a long text around the word, which stands alone", () => {
    const text = `${"a ".repeat(100)}needle${" b".repeat(100)}`;

    expect(snippet(text, ["needle"])).toEqual([
      `…${"a ".repeat(15)}`,
      "needle",
      `${" b".repeat(52)}…`,
    ]);
  });

  test("keeps markup as text", () => {
    expect(snippet("<b>x</b> y", ["x"])).toEqual(["<b>", "x", "</b> y"]);
  });

  test("a word that is not in the text leaves its beginning", () => {
    expect(snippet("short", ["other"])).toEqual(["short"]);
  });
});
