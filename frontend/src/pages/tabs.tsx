import { Calendar } from "../calendar/Calendar";
import type {
  CodeText,
  ModelDocument,
  ModelRow,
  PartitionsDocument,
  ProjectDocument,
} from "../data/documents";
import type { Loading } from "../data/use";
import type { Tab } from "../parts/Tabs";
import { Waiting } from "../parts/Waiting";
import type { Router } from "../shell/router";
import { ChecksTab } from "./ChecksTab";
import { CodeTab } from "./CodeTab";
import { ColumnsTab } from "./ColumnsTab";
import { ExecutionsTab } from "./ExecutionsTab";
import { PackageTab } from "./PackageTab";
import { SlicesTab } from "./SlicesTab";

export interface ModelParts {
  readonly model: ModelRow;
  readonly chunk: ModelDocument;
  readonly partitions: Loading<PartitionsDocument>;
  readonly project: ProjectDocument;
  readonly router: Router;
}

/** Return the tabs that have something to show. */
export function modelTabs(parts: ModelParts): readonly Tab[] {
  const { model, chunk, project, router } = parts;
  const tab = (id: string, title: string, has: boolean, panel: Tab["panel"]) =>
    has ? [{ id, title, panel }] : [];
  const codes = allCodes(chunk);
  return [
    ...tab("columns", "Columns", chunk.columns.length > 0, () => (
      <ColumnsTab columns={chunk.columns} checks={chunk.checks} project={project} />
    )),
    ...tab("code", "Code", codes.length > 0, () => <CodeTab codes={codes} router={router} />),
    ...tab("calendar", "Calendar", model.partitions > 0, () => <CalendarTab {...parts} />),
    ...tab("runs", "Runs", chunk.executions.length > 0, () => (
      <ExecutionsTab executions={chunk.executions} />
    )),
    ...tab("checks", "Checks", chunk.checks.length > 0, () => <ChecksTab checks={chunk.checks} />),
    ...tab("slices", "Slices", chunk.slices.length > 0, () => <SlicesTab slices={chunk.slices} />),
    ...tab("package", "Package", chunk.package.length > 0, () => (
      <PackageTab parts={chunk.package} />
    )),
  ];
}

/** Return the text as written, then the canonical ones. */
function allCodes({ written, codes }: ModelDocument): readonly CodeText[] {
  return written ? [written, ...codes.filter((each) => each.id !== written.id)] : codes;
}

function CalendarTab({ model, chunk, partitions, project }: ModelParts) {
  if (!partitions.chunk) return <Waiting loading={partitions} what="The calendar" />;
  return (
    <Calendar model={model} partitions={partitions.chunk} project={project} codes={chunk.codes} />
  );
}
