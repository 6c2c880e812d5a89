import type {
  BuiltBy,
  CodeText,
  PartitionRange,
  PartitionsDocument,
} from "../../src/data/documents";
import { dayNumber } from "../../src/grid/dates";
import { CURRENT, NEVER_RUN, SQL_CHANGED } from "../fixtures";

export const FIRST = dayNumber(2024, 1, 1);

export function range(changes: Partial<PartitionRange>): PartitionRange {
  return {
    low: FIRST,
    high: FIRST,
    state: CURRENT,
    also: [],
    is_pending: false,
    is_drifted: false,
    because: [],
    version: 2,
    revision: 0,
    code: "bbbb",
    built_by: 0,
    rows: [],
    bytes: [],
    ...changes,
  };
}

export function step(changes: Partial<BuiltBy>): BuiltBy {
  return {
    step: "s1",
    run: "run-1",
    at: "2024-01-31T10:00:00Z",
    seconds: 75,
    rows: 2800,
    bytes: 60_000,
    table_version: 4,
    code: "bbbb",
    inputs: [],
    ...changes,
  };
}

/** January 2024: 28 days are current, one changed, the last two were never built. */
export const JANUARY: PartitionsDocument = {
  name: "marts.revenue_by_day",
  grain: "day",
  start: 0,
  width: 1,
  ranges: [
    range({
      low: FIRST,
      high: FIRST + 27,
      rows: Array.from({ length: 28 }, (_, n) => n + 1),
      bytes: [2000],
    }),
    range({
      low: FIRST + 28,
      high: FIRST + 28,
      state: SQL_CHANGED,
      is_drifted: true,
      because: ["revenue_by_day.v2.sql changed"],
      built_by: 1,
      rows: [100],
    }),
    range({ low: FIRST + 29, high: FIRST + 30, state: NEVER_RUN, built_by: -1, version: null }),
  ],
  steps: [
    step({}),
    step({
      step: "s0",
      run: "run-0",
      at: "2024-01-30T12:00:00Z",
      seconds: 2,
      rows: 100,
      bytes: null,
      code: "aaaa",
      inputs: [{ node: "staging.events", read: "v3", now: "v4" }],
    }),
  ],
  mappings: [
    { node: "countries", ranges: [] },
    {
      node: "marts.revenue_by_day",
      ranges: [{ low: FIRST + 1, high: FIRST + 30, first: FIRST, last: FIRST, moves: true }],
    },
  ],
};

export const CODES: readonly CodeText[] = [
  { id: "bbbb", label: "v2", partitions: "all", language: "sql", lines: ["select a", "from t"] },
  { id: "aaaa", label: "v1", partitions: "", language: "sql", lines: ["select b", "from t"] },
];
