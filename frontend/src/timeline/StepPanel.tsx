import type { ProjectDocument } from "../data/documents";
import { Facts } from "../parts/Facts";
import { Inputs } from "../parts/Inputs";
import { Node } from "../parts/Node";
import { bytes, number, seconds } from "../parts/numbers";
import { Panel } from "../parts/Panel";
import { State } from "../parts/State";
import { inWords } from "../parts/states";
import { Time } from "../parts/Time";
import type { PlacedStep } from "./timeline";

interface StepPanelProps {
  readonly placed: PlacedStep;
  readonly project: ProjectDocument;
  readonly onClose: () => void;
}

/** What is known of one step: reason, inputs, result, and how long it waited. */
export function StepPanel({ placed, project, onClose }: StepPanelProps) {
  const { step, from, to, ready } = placed;
  const since = ready > 0 ? "its last input ended" : "the run began";
  const title = (
    <>
      <Node project={project} node={step.model} /> {step.partitions}
    </>
  );
  return (
    <Panel name="Step" about={step.step} title={title} onClose={onClose}>
      {step.error !== "" && <p class="error">{step.error}</p>}
      {step.hint !== "" && <p>Hint: {step.hint}</p>}
      <Facts
        facts={[
          ["Result", <State key="result" name={step.status} />],
          ["Reason", inWords(step.reason)],
          ["Began", <Time key="began" at={step.started} />],
          ["Took", seconds(to - from)],
          ["Waited", `${seconds(from - ready)} since ${since}`],
          ["Rows", number(step.rows)],
          ["Size", bytes(step.bytes)],
          ["Table version", step.table_version !== null && number(step.table_version)],
          ["Step", step.step],
        ]}
      />
      <Inputs inputs={step.inputs} project={project} />
    </Panel>
  );
}
