import type { ModelRow, ProjectDocument, RunRow, SourceRow } from "../src/data/documents";

/** Indices of the states in `project.states`. */
export const CURRENT = 0;
export const FAILED = 1;
export const SQL_CHANGED = 2;
export const NEVER_RUN = 3;

const EMPTY_MODEL: ModelRow = {
  number: 0,
  name: "",
  kind: "sql",
  strategy: "full",
  grain: "*",
  schema: "",
  table: "",
  file: "",
  line: 1,
  tags: [],
  owner: "",
  package: "",
  reads: [],
  states: [{ state: CURRENT, count: 1, is_pending: false, is_drifted: false, because: [] }],
  partitions: 1,
  current: 1,
  rows: null,
  bytes: null,
  built_at: "",
  seconds: null,
  lines: [],
};

/** Return a model that is current, except for what is passed in. */
export function modelRow(changes: Partial<ModelRow>): ModelRow {
  return { ...EMPTY_MODEL, ...changes };
}

const EVENTS = modelRow({
  number: 0,
  name: "staging.events",
  schema: "staging",
  table: "main.staging.events",
  file: "models/staging/events.sql",
  tags: ["hourly"],
  owner: "web team",
  reads: ["source:raw.events"],
  rows: 120_000,
  bytes: 4_200_000,
  built_at: "2024-01-31T10:00:00Z",
  seconds: 12.5,
});

const BY_DAY = modelRow({
  number: 1,
  name: "marts.revenue_by_day",
  kind: "versioned",
  strategy: "overwrite_partitions",
  grain: "DAY",
  schema: "marts",
  table: "main.marts.revenue_by_day",
  file: "models/marts/revenue_by_day.yaml",
  tags: ["daily", "finance"],
  owner: "finance",
  reads: ["staging.events", "countries"],
  states: [
    { state: CURRENT, count: 28, is_pending: false, is_drifted: false, because: [] },
    {
      state: SQL_CHANGED,
      count: 3,
      is_pending: false,
      is_drifted: true,
      because: ["revenue_by_day.v2.sql changed"],
    },
  ],
  partitions: 31,
  current: 28,
  rows: 3_100,
  bytes: 64_000,
  built_at: "2024-01-31T10:05:00Z",
  seconds: 75,
  lines: ["3 of 31 partitions drifted: code changed"],
});

const BY_WEEK = modelRow({
  number: 2,
  name: "marts.revenue_by_week",
  kind: "versioned",
  strategy: "overwrite_partitions",
  grain: "WEEK",
  schema: "marts",
  table: "main.marts.revenue_by_week",
  file: "models/marts/revenue_by_week.yaml",
  tags: ["finance"],
  owner: "finance",
  reads: ["marts.revenue_by_day"],
  states: [
    { state: CURRENT, count: 3, is_pending: false, is_drifted: false, because: [] },
    { state: CURRENT, count: 1, is_pending: true, is_drifted: false, because: [] },
    { state: FAILED, count: 1, is_pending: false, is_drifted: true, because: [] },
  ],
  partitions: 5,
  current: 4,
  rows: 500,
  bytes: 9_000,
  built_at: "2024-01-31T10:07:00Z",
  seconds: 8,
  lines: ["1 of 5 partitions failed"],
});

const SCORES = modelRow({
  number: 3,
  name: "scores",
  kind: "python",
  schema: "science",
  table: "main.science.scores",
  file: "models/scores.py",
  line: 12,
  reads: ["staging.events"],
  states: [{ state: NEVER_RUN, count: 1, is_pending: false, is_drifted: true, because: [] }],
  current: 0,
  lines: ["never built"],
});

const RAW_EVENTS: SourceRow = {
  node: "source:raw.events",
  kind: "source",
  table: "",
  path: "landing/events",
  format: "csv",
  file: "models/sources.yml",
  line: 2,
  description_html: "<p>Events as they arrive.</p>",
  columns: [
    { name: "user_id", type: "STRING", description_html: "", checks: [], origins: null },
    { name: "amount", type: "DECIMAL(10,2)", description_html: "", checks: [], origins: null },
  ],
  read_by: ["staging.events"],
  version: "31 files",
  changed_at: "2024-01-31T09:00:00Z",
  newest_row_at: "2024-01-31T08:59:00Z",
  limit: 86_400,
};

const COUNTRIES: SourceRow = {
  node: "countries",
  kind: "seed",
  table: "main.seeds.countries",
  path: "",
  format: "csv",
  file: "seeds/countries.csv",
  line: 1,
  description_html: "",
  columns: [],
  read_by: ["marts.revenue_by_day"],
  version: "v0",
  changed_at: "2024-01-01T00:00:00Z",
  newest_row_at: "",
  limit: null,
};

/** Return a run that succeeded in one minute, except for what is passed in. */
export function runRow(changes: Partial<RunRow>): RunRow {
  return {
    id: "run-1",
    command: "run",
    started: "2024-01-31T10:00:00Z",
    ended: "2024-01-31T10:01:00Z",
    status: "success",
    models: 3,
    failed: 0,
    chunk: 0,
    ...changes,
  };
}

/**
 * A project of four models, one source and one seed:
 * source:raw.events → staging.events → marts.revenue_by_day (also reads the seed countries)
 * → marts.revenue_by_week; staging.events → scores.
 */
export const PROJECT: ProjectDocument = {
  format: 2,
  penstock: "0.9.0",
  project: "shop",
  flags: "",
  target: "dev",
  made_at: "2024-01-31T12:00:00Z",
  as_of: "2024-01-31",
  notices: [],
  states: ["current", "failed", "sql_changed", "never_run"],
  models: [EVENTS, BY_DAY, BY_WEEK, SCORES],
  sources: [RAW_EVENTS, COUNTRIES],
  attention: [
    {
      kind: "failed",
      node: "marts.revenue_by_week",
      sentence: "1 partition failed: 2024-01-29",
      command: "penstock sync --select marts.revenue_by_week",
    },
    {
      kind: "sql_changed",
      node: "marts.revenue_by_day",
      sentence: "3 partitions drifted: code changed",
      command: "penstock sync --select marts.revenue_by_day",
    },
  ],
  plans: [
    {
      command: "penstock sync",
      count: 2,
      steps: [
        {
          model: "marts.revenue_by_day",
          partitions: "2024-01-29 to 2024-01-31",
          reason: "code changed",
        },
        { model: "marts.revenue_by_week", partitions: "2024-01-29", reason: "failed before" },
      ],
    },
  ],
  runs: [
    runRow({
      id: "run-2",
      command: "sync",
      started: "2024-01-31T11:00:00Z",
      ended: "2024-01-31T11:00:30Z",
      status: "failed",
      models: 2,
      failed: 1,
    }),
    runRow({}),
  ],
};
