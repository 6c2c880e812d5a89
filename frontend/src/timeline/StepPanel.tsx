import type { ComponentChildren } from "preact";
import type { ProjectDocument } from "../data/documents";
import { Node } from "../parts/Node";
import { bytes, number, seconds } from "../parts/numbers";
import { State } from "../parts/State";
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
  return (
    <section class="timeline-panel" aria-label="Step" aria-live="polite">
      <h3>
        <Node project={project} node={step.model} /> {step.partitions}
      </h3>
      <button type="button" class="timeline-close" onClick={onClose}>
        Close
      </button>
      {step.error !== "" && <p class="error">{step.error}</p>}
      {step.hint !== "" && <p>Hint: {step.hint}</p>}
      <dl class="facts">
        <Fact name="Result">
          <State name={step.status} />
        </Fact>
        <Fact name="Reason">{step.reason}</Fact>
        <Fact name="Began">
          <Time at={step.started} />
        </Fact>
        <Fact name="Took">{seconds(to - from)}</Fact>
        <Fact name="Waited">
          {seconds(from - ready)} since {ready > 0 ? "its last input ended" : "the run began"}
        </Fact>
        <Fact name="Rows">{number(step.rows)}</Fact>
        <Fact name="Size">{bytes(step.bytes)}</Fact>
        <Fact name="Table version">{number(step.table_version)}</Fact>
        <Fact name="Step">{step.step}</Fact>
      </dl>
      {step.inputs.length > 0 && (
        <ul aria-label="Inputs">
          {step.inputs.map(({ node, then, now }) => (
            <li key={node}>
              <Node project={project} node={node} /> at {then}
              {now !== "" && now !== then && `, now ${now}`}
            </li>
          ))}
        </ul>
      )}
    </section>
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
