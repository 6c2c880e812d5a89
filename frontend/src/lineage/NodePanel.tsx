import { useState } from "preact/hooks";
import type { ProjectDocument } from "../data/documents";
import { modelNamed, modelState } from "../data/project";
import { useAwaited } from "../data/use";
import { Node } from "../parts/Node";
import { counted } from "../parts/numbers";
import { State } from "../parts/State";
import type { Graph } from "./graph";
import type { Columns, Trace } from "./trace";

interface NodePanelProps {
  readonly project: ProjectDocument;
  readonly graph: Graph;
  readonly node: string;
  readonly column: string | null;
  readonly trace: Trace | null;
  readonly columns: Columns;
  readonly onColumn: (column: string | null) => void;
  readonly onlyThis: () => void;
}

/** The node that was clicked: its state, its neighbours in numbers, its columns. */
export function NodePanel(props: NodePanelProps) {
  const { project, graph, node, onlyThis } = props;
  const model = modelNamed(project, node);
  const above = graph.parents.get(node)?.length ?? 0;
  const below = graph.children.get(node)?.length ?? 0;
  return (
    <section class="lineage-panel" aria-label="Node" aria-live="polite">
      <h2>
        <Node project={project} node={node} />
      </h2>
      {model && <State name={modelState(project, model)} />}
      <p>
        Reads {counted(above, "node")}, read by {counted(below, "node")}.
      </p>
      <button type="button" onClick={onlyThis}>
        Show only this and its neighbours
      </button>
      <Listed key={node} {...props} />
      {props.trace && <Traced project={project} trace={props.trace} />}
    </section>
  );
}

function Listed({ node, column, columns, onColumn }: NodePanelProps) {
  const [isAsked, setAsked] = useState(column !== null);
  const { chunk: rows, error } = useAwaited(() => (isAsked ? columns(node) : null), [isAsked]);
  if (!isAsked) {
    return (
      <button type="button" onClick={() => setAsked(true)}>
        Show its columns
      </button>
    );
  }
  if (rows === undefined && error === undefined) return <p>Loading…</p>;
  if (!rows?.length) return <p>Its columns are not known.</p>;
  return (
    <ul class="lineage-columns" aria-label="Columns">
      {rows.map(({ name, type, origins }) => (
        <li key={name}>
          <button
            type="button"
            class="small"
            aria-pressed={name === column}
            onClick={() => onColumn(name === column ? null : name)}
          >
            {name}
          </button>{" "}
          <span class="quiet">{origins === null ? `${type}, origin not known` : type}</span>
        </li>
      ))}
    </ul>
  );
}

function Traced({ project, trace }: { project: ProjectDocument; trace: Trace }) {
  return (
    <>
      <h3>Made of and used in</h3>
      <ul class="lineage-columns">
        {[...trace.columns].map(([node, names]) => (
          <li key={node}>
            <Node project={project} node={node} />: {[...names].join(", ")}
          </li>
        ))}
      </ul>
      {trace.unknown.size > 0 && (
        <p>
          Not known what columns are made of in: {[...trace.unknown].join(", ")}. Its way may go on
          there.
        </p>
      )}
      {trace.isCut && <p>There are too many nodes; only the nearest were followed.</p>}
    </>
  );
}
