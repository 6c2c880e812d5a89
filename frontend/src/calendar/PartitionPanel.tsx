import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { CodeText, InputVersion, PartitionRange, ProjectDocument } from "../data/documents";
import { type Grid, gridOf, keysOf, nameOf } from "../grid/grid";
import { Command } from "../parts/Command";
import { Node } from "../parts/Node";
import { bytes, counted, number, seconds } from "../parts/numbers";
import { State } from "../parts/State";
import { stateLook } from "../parts/states";
import { Time } from "../parts/Time";
import { address } from "../shell/route";
import type { CalendarProps } from "./Calendar";
import { CodeChange } from "./CodeChange";
import { mappedInputs, syncCommand } from "./mapped";
import { indexAt, statesOf, totals } from "./ranges";
import { versionWords } from "./sentence";

interface PanelProps extends CalendarProps {
  readonly low: number;
  readonly high: number;
  readonly onClose: () => void;
}

/** What is known of one partition, or of a marked range of them, and what repairs it. */
export function PartitionPanel(props: PanelProps) {
  const { model, partitions, low, high, onClose } = props;
  const grid = gridOf(partitions);
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus(), [low, high]);
  const isOne = low === high;
  const range = partitions.ranges[indexAt(partitions.ranges, low)];
  return (
    <section
      class="calendar-panel"
      aria-label="Partition"
      onKeyDown={(event) => event.key === "Escape" && onClose()}
    >
      <h3 ref={heading} tabIndex={-1}>
        {isOne ? nameOf(grid, low) : keysOf(grid, low, high)}
      </h3>
      <button type="button" class="calendar-close" onClick={onClose}>
        Close
      </button>
      <p>
        To build {isOne ? "it" : "these"} again:{" "}
        <Command text={syncCommand(model.name, grid, low, high)} />
      </p>
      {isOne && range ? <One {...props} range={range} /> : <Many {...props} />}
      <ReadPartitions {...props} grid={grid} />
    </section>
  );
}

function One(props: PanelProps & { range: PartitionRange }) {
  const { range, partitions, project, codes } = props;
  const step = partitions.steps[range.built_by];
  return (
    <>
      <dl>
        <Fact name="State">
          {statesOf(range, project).map((each) => (
            <State key={each} name={each} />
          ))}
        </Fact>
        {range.because.length > 0 && <Fact name="Reason">{range.because.join("; ")}</Fact>}
        {range.version !== null && (
          <Fact name="Version">{versionWords(range.version, range.revision)}</Fact>
        )}
        {step === undefined ? (
          <Fact name="Built">never</Fact>
        ) : (
          <>
            <Fact name="Built">
              <Time at={step.at} /> by run <a href={address("run", step.run)}>{step.run}</a>, step{" "}
              {step.step}
            </Fact>
            <Fact name="The step took">{seconds(step.seconds)}</Fact>
            <Fact name="Rows of the step">{number(step.rows)}</Fact>
            <Fact name="Size of the step">{bytes(step.bytes)}</Fact>
            {step.table_version !== null && (
              <Fact name="Table version">{number(step.table_version)}</Fact>
            )}
          </>
        )}
      </dl>
      {step !== undefined && <Inputs inputs={step.inputs} project={project} />}
      <Code codes={codes} before={step?.code ?? ""} after={range.code} />
    </>
  );
}

function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

interface InputsProps {
  readonly inputs: readonly InputVersion[];
  readonly project: ProjectDocument;
}

function Inputs({ inputs, project }: InputsProps) {
  if (inputs.length === 0) return null;
  return (
    <table>
      <caption>Inputs</caption>
      <thead>
        <tr>
          <th scope="col">Input</th>
          <th scope="col">Version it read</th>
          <th scope="col">Version now</th>
        </tr>
      </thead>
      <tbody>
        {inputs.map(({ node, then, now }) => (
          <tr key={node} class={then === now ? "" : "calendar-changed"}>
            <th scope="row">
              <Node project={project} node={node} />
            </th>
            <td>{then}</td>
            <td>{then === now ? `${now} (the same)` : now}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Code({
  codes,
  before,
  after,
}: {
  codes: readonly CodeText[];
  before: string;
  after: string;
}) {
  const text = (id: string) => codes.find((each) => each.id === id);
  return <CodeChange before={text(before)} after={text(after)} isSame={before === after} />;
}

function Many({ partitions, project, low, high }: PanelProps) {
  const all = totals(partitions, project, low, high);
  return (
    <dl>
      <Fact name="Partitions">{number(all.partitions)}</Fact>
      <Fact name="States">
        {[...all.states]
          .map(([state, count]) => `${number(count)} ${stateLook(state).words}`)
          .join(", ")}
      </Fact>
      <Fact name="Rows">{number(all.rows)}</Fact>
      <Fact name="Size">{bytes(all.bytes)}</Fact>
      <Fact name="Built by">
        {counted(all.steps, "step")}
        {all.isShared && "; rows and size include partitions of these steps that are not marked"}
      </Fact>
    </dl>
  );
}

function ReadPartitions({ partitions, project, low, high, grid }: PanelProps & { grid: Grid }) {
  const inputs = mappedInputs(partitions.mappings, project, low, high);
  if (inputs.length === 0) return null;
  return (
    <div>
      <h4>{low === high ? "Reads" : `${keysOf(grid, low, high)} read`}</h4>
      <ul>
        {inputs.map(({ node, partitions: keys }) => (
          <li key={node}>
            <Node project={project} node={node} />: {keys}
          </li>
        ))}
      </ul>
    </div>
  );
}
