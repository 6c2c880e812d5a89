import type { JSX } from "preact";
import type { ModelRow, PartitionRange, ProjectDocument } from "../data/documents";
import { modelNamed } from "../data/project";
import { useChunk } from "../data/use";
import { gridOf, keysOf, nameOf } from "../grid/grid";
import { Command } from "../parts/Command";
import { Facts } from "../parts/Facts";
import { Inputs } from "../parts/Inputs";
import { useMore } from "../parts/More";
import { Node } from "../parts/Node";
import { bytes, counted, number, seconds } from "../parts/numbers";
import { Panel } from "../parts/Panel";
import { State } from "../parts/State";
import { Time } from "../parts/Time";
import { Waiting } from "../parts/Waiting";
import { address } from "../shell/route";
import type { CalendarProps } from "./Calendar";
import { CodeChange } from "./CodeChange";
import { MappedCalendar } from "./MappedCalendar";
import { type MappedNode, mappedInputs, mappedReader, syncCommand } from "./mapped";
import { statesOf, type Totals, totals, within } from "./ranges";
import { versionWords } from "./sentence";

interface PanelProps extends CalendarProps {
  readonly low: number;
  readonly high: number;
  readonly onClose: () => void;
}

/** What is known of one partition, or of a marked range of them, and what repairs it. */
export function PartitionPanel(props: PanelProps) {
  const { model, partitions, project, low, high, onClose } = props;
  const grid = gridOf(partitions);
  const title = low === high ? nameOf(grid, low) : keysOf(grid, low, high);
  const range = low === high ? within(partitions.ranges, low, low)[0] : undefined;
  const all = totals(partitions, project, low, high);
  const states = [...all.states.keys()];
  // Whole tables are not all repaired by `sync`; the site says by which command.
  const isOfTable = grid.grain === "whole" || states.some((state) => OF_TABLE.has(state));
  const known = project.attention.find(({ node }) => node === model.name);
  const sync = syncCommand(model.name, grid, { low, high }, project.flags);
  return (
    <Panel name="Partition" about={title} title={title} onClose={onClose}>
      {states.every((state) => WELL.has(state)) ? (
        <p>Nothing to repair here.</p>
      ) : (
        <p>
          Repair: <Command text={(isOfTable && known?.command) || sync} />
        </p>
      )}
      {range ? <One {...props} range={range} /> : <Many all={all} />}
      <Listed title="Reads">
        {mappedInputs(partitions.mappings, project, low, high).map((each) => (
          <MappedItem key={each.node} project={project} {...each} />
        ))}
      </Listed>
      <ReadBy {...props} />
    </Panel>
  );
}

const OF_TABLE: ReadonlySet<string> = new Set(["unrecorded", "unreadable", "foreign_table"]);
const WELL: ReadonlySet<string> = new Set(["current", "not_effective", "running"]);

function One({ range, partitions, project, codes }: PanelProps & { range: PartitionRange }) {
  const [rows] = range.rows;
  const [size] = range.bytes;
  const step = partitions.steps[range.built_by];
  const code = (id: string | undefined) => codes.find((each) => each.id === id);
  const states = statesOf(range, project).map((each) => <State key={each} name={each} />);
  const facts = [
    ["State", states],
    ["Reason", range.because.join("; ")],
    ["Version", range.version !== null && versionWords(range.version, range.revision)],
  ] as const;
  const built =
    step &&
    ([
      ["Built", <Time key="at" at={step.at} />],
      [
        "By run",
        <a key="run" href={address("run", step.run)}>
          {step.run}
        </a>,
      ],
      ["Step", step.step],
      ["The step took", seconds(step.seconds)],
      ["Rows", rows === undefined ? `${number(step.rows)} in its step` : number(rows)],
      ["Size", size === undefined ? `${bytes(step.bytes)} in its step` : bytes(size)],
      ["Table version", step.table_version !== null && number(step.table_version)],
    ] as const);
  return (
    <>
      <Facts facts={[...facts, ...(built ?? [["Built", "never"] as const])]} />
      <Inputs inputs={step?.inputs ?? []} project={project} />
      <CodeChange
        before={code(step?.code)}
        after={code(range.code)}
        isSame={step?.code === range.code}
      />
    </>
  );
}

function Many({ all }: { all: Totals }) {
  const states = [...all.states].map(([name, count]) => (
    <State key={name} name={name} count={count} />
  ));
  return (
    <Facts
      facts={[
        ["Partitions", number(all.partitions)],
        ["States", states],
        ["Rows", number(all.rows)],
        ["Size", bytes(all.bytes)],
        ["Built by", counted(all.steps, "step")],
      ]}
    />
  );
}

const FEW = 20;

function Listed({ title, children }: { title: string; children: readonly JSX.Element[] }) {
  if (children.length === 0) return null;
  return (
    <>
      <h4>{title}</h4>
      <ul>{children}</ul>
    </>
  );
}

function ReadBy({ model, project, low, high }: PanelProps) {
  const readers = project.models.filter((each) => each.reads.includes(model.name));
  const [shown, more] = useMore(readers, FEW);
  return (
    <>
      <Listed title="Read by">
        {shown.map((reader) => (
          <Reader key={reader.name} {...{ reader, node: model.name, project, low, high }} />
        ))}
      </Listed>
      {more}
    </>
  );
}

interface ReaderProps extends Pick<PanelProps, "project" | "low" | "high"> {
  readonly reader: ModelRow;
  readonly node: string;
}

/** The document of a model below is loaded here: only for an open panel it is of use. */
function Reader({ reader, node, project, low, high }: ReaderProps) {
  const loading = useChunk(`partitions-${reader.number}`);
  const { chunk } = loading;
  if (chunk) return <MappedItem project={project} {...mappedReader(chunk, node, low, high)} />;
  return (
    <li>
      <Waiting loading={loading} what={reader.name} />
    </li>
  );
}

type MappedItemProps = MappedNode & { readonly project: ProjectDocument };

function MappedItem({ project, node, intervals, words }: MappedItemProps) {
  const model = intervals.length > 0 ? modelNamed(project, node) : undefined;
  const { chunk } = useChunk(model ? `partitions-${model.number}` : null);
  return (
    <li>
      <Node project={project} node={node} />: {words}
      {chunk && <MappedCalendar document={chunk} project={project} intervals={intervals} />}
    </li>
  );
}
