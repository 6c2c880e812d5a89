import type { InputVersion, ProjectDocument } from "../data/documents";
import { Node } from "./Node";
import { Table } from "./Table";

interface InputsProps {
  readonly inputs: readonly InputVersion[];
  readonly project: ProjectDocument;
}

/** The versions of inputs that a step read, beside those that are there now. */
export function Inputs({ inputs, project }: InputsProps) {
  if (inputs.length === 0) return null;
  return (
    <Table heads={["Input", "Version it read", "Version now"]}>
      {inputs.map(({ node, read, now }) => (
        <tr key={node} class={read === now ? "" : "panel-changed"}>
          <td>
            <Node project={project} node={node} />
          </td>
          <td>{read}</td>
          <td>{read === now ? `${now} (the same)` : now}</td>
        </tr>
      ))}
    </Table>
  );
}
