// Written by scripts/site-types from the documents in src/penstock/app/site.

export const FORMAT = 2;

export interface ColumnRow {
  readonly name: string;
  readonly type: string;
  readonly description_html: string;
  readonly checks: readonly string[];
  readonly origins: readonly ColumnOrigin[] | null;
}

export interface InputVersion {
  readonly node: string;
  readonly read: string;
  readonly now: string;
}

export interface Notice {
  readonly code: string;
  readonly place: string;
  readonly sentence: string;
  readonly hint: string;
  readonly is_error: boolean;
}

export interface StateShare {
  readonly state: number;
  readonly count: number;
  readonly is_pending: boolean;
  readonly is_drifted: boolean;
  readonly because: readonly string[];
}

export interface ModelRow {
  readonly number: number;
  readonly name: string;
  readonly kind: string;
  readonly strategy: string;
  readonly grain: string;
  readonly schema: string;
  readonly table: string;
  readonly file: string;
  readonly line: number;
  readonly tags: readonly string[];
  readonly owner: string;
  readonly package: string;
  readonly reads: readonly string[];
  readonly states: readonly StateShare[];
  readonly partitions: number;
  readonly current: number;
  readonly rows: number | null;
  readonly bytes: number | null;
  readonly built_at: string;
  readonly seconds: number | null;
  readonly lines: readonly string[];
}

export interface SourceRow {
  readonly node: string;
  readonly kind: string;
  readonly table: string;
  readonly path: string;
  readonly format: string;
  readonly file: string;
  readonly line: number;
  readonly description_html: string;
  readonly columns: readonly ColumnRow[];
  readonly read_by: readonly string[];
  readonly version: string;
  readonly changed_at: string;
  readonly newest_row_at: string;
  readonly limit: number | null;
}

export interface Attention {
  readonly kind: string;
  readonly node: string;
  readonly sentence: string;
  readonly command: string;
}

export interface PlannedStep {
  readonly model: string;
  readonly partitions: string;
  readonly reason: string;
}

export interface PlannedCommand {
  readonly command: string;
  readonly count: number;
  readonly steps: readonly PlannedStep[];
}

export interface RunRow {
  readonly id: string;
  readonly command: string;
  readonly started: string;
  readonly ended: string;
  readonly status: string;
  readonly models: number;
  readonly failed: number;
  readonly chunk: number;
}

export interface ProjectDocument {
  readonly format: number;
  readonly penstock: string;
  readonly project: string;
  readonly target: string;
  readonly flags: string;
  readonly made_at: string;
  readonly as_of: string;
  readonly notices: readonly Notice[];
  readonly states: readonly string[];
  readonly models: readonly ModelRow[];
  readonly sources: readonly SourceRow[];
  readonly attention: readonly Attention[];
  readonly plans: readonly PlannedCommand[];
  readonly runs: readonly RunRow[];
}

export interface StepRow {
  readonly step: string;
  readonly model: string;
  readonly partitions: string;
  readonly status: string;
  readonly started: string;
  readonly ended: string;
  readonly rows: number | null;
  readonly bytes: number | null;
  readonly table_version: number | null;
  readonly reason: string;
  readonly inputs: readonly InputVersion[];
  readonly error: string;
  readonly hint: string;
}

export interface RunDocument {
  readonly id: string;
  readonly command: string;
  readonly arguments: string;
  readonly user: string;
  readonly host: string;
  readonly started: string;
  readonly ended: string;
  readonly status: string;
  readonly steps: readonly StepRow[];
}

export interface RunsDocument {
  readonly runs: readonly RunDocument[];
}

export interface FoundText {
  readonly node: string;
  readonly part: string;
  readonly name: string;
  readonly text: string;
}

export interface SearchDocument {
  readonly texts: readonly FoundText[];
}

export interface ColumnOrigin {
  readonly node: string;
  readonly column: string;
}

export interface CodeText {
  readonly id: string;
  readonly label: string;
  readonly partitions: string;
  readonly language: string;
  readonly lines: readonly string[];
}

export interface ExecutionRow {
  readonly step: string;
  readonly run: string;
  readonly partitions: string;
  readonly status: string;
  readonly started: string;
  readonly seconds: number;
  readonly rows: number | null;
  readonly bytes: number | null;
  readonly table_version: number | null;
  readonly versions_opened: number | null;
  readonly versions_closed: number | null;
  readonly code: string;
  readonly reason: string;
  readonly error: string;
  readonly hint: string;
}

export interface Evaluation {
  readonly at: string;
  readonly status: string;
  readonly value: number | null;
  readonly limit: number | null;
  readonly step: string;
  readonly sentence: string;
}

export interface BandPoint {
  readonly at: string;
  readonly status: string;
  readonly value: number;
  readonly low: number | null;
  readonly high: number | null;
}

export interface CheckRow {
  readonly name: string;
  readonly type: string;
  readonly phase: string;
  readonly column: string;
  readonly on_failure: string;
  readonly description_html: string;
  readonly evaluations: readonly Evaluation[];
  readonly band: readonly BandPoint[];
}

export interface SliceRow {
  readonly name: string;
  readonly status: string;
  readonly at: string;
  readonly rows: number | null;
  readonly why: string;
}

export interface PackagePart {
  readonly section: string;
  readonly name: string;
  readonly value: string;
}

export interface ModelDocument {
  readonly name: string;
  readonly description_html: string;
  readonly place: string;
  readonly exposures: readonly string[];
  readonly columns: readonly ColumnRow[];
  readonly written: CodeText | null;
  readonly codes: readonly CodeText[];
  readonly executions: readonly ExecutionRow[];
  readonly checks: readonly CheckRow[];
  readonly slices: readonly SliceRow[];
  readonly package: readonly PackagePart[];
}

export interface BuiltBy {
  readonly step: string;
  readonly run: string;
  readonly at: string;
  readonly seconds: number;
  readonly rows: number | null;
  readonly bytes: number | null;
  readonly table_version: number | null;
  readonly code: string;
  readonly inputs: readonly InputVersion[];
}

export interface PartitionRange {
  readonly low: number;
  readonly high: number;
  readonly state: number;
  readonly also: readonly number[];
  readonly is_pending: boolean;
  readonly is_drifted: boolean;
  readonly because: readonly string[];
  readonly version: number | null;
  readonly revision: number | null;
  readonly code: string;
  readonly built_by: number;
  readonly rows: readonly number[];
  readonly bytes: readonly number[];
}

export interface MappedRange {
  readonly low: number;
  readonly high: number;
  readonly first: number;
  readonly last: number;
  readonly moves: boolean;
}

export interface PartitionMapping {
  readonly node: string;
  readonly ranges: readonly MappedRange[];
}

export interface PartitionsDocument {
  readonly name: string;
  readonly grain: string;
  readonly start: number;
  readonly width: number;
  readonly ranges: readonly PartitionRange[];
  readonly steps: readonly BuiltBy[];
  readonly mappings: readonly PartitionMapping[];
}
