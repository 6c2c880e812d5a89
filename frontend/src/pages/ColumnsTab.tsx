import type { CheckRow, ColumnRow, ProjectDocument } from "../data/documents";
import { Html } from "../parts/Html";
import { Node } from "../parts/Node";
import { Sign } from "../parts/State";
import { Table } from "../parts/Table";

interface ColumnsTabProps {
  readonly columns: readonly ColumnRow[];
  readonly checks: readonly CheckRow[];
  readonly project: ProjectDocument;
}

/** The columns: type, description, checks with their last results, and where they come from. */
export function ColumnsTab({ columns, checks, project }: ColumnsTabProps) {
  return (
    <Table heads={["Column", "Type", "Description", "Checks", "Comes from"]}>
      {columns.map((column) => (
        <tr key={column.name}>
          <th scope="row">{column.name}</th>
          <td>
            <code>{column.type}</code>
          </td>
          <td>
            <Html html={column.description_html} />
          </td>
          <td>
            {column.checks.map((name) => (
              <div key={name}>
                <Verdict status={lastStatus(checks, name)} /> {name}
              </div>
            ))}
          </td>
          <td>
            <Origins column={column} project={project} />
          </td>
        </tr>
      ))}
    </Table>
  );
}

/** Return the status of a check's last evaluation, "" if there was none. */
function lastStatus(checks: readonly CheckRow[], name: string): string {
  return checks.find((each) => each.name === name)?.evaluations.at(-1)?.status ?? "";
}

function Verdict({ status }: { readonly status: string }) {
  if (!status) return null;
  return (
    <>
      <Sign name={status} />
      <span class="hidden">{status}</span>
    </>
  );
}

function Origins({ column, project }: { column: ColumnRow; project: ProjectDocument }) {
  if (column.origins === null) return <span class="quiet">not known</span>;
  if (column.origins.length === 0) return <span class="quiet">no column</span>;
  return (
    <>
      {column.origins.map(({ node, column: name }) => (
        <div key={`${node} ${name}`}>
          <Node project={project} node={node} />.{name}
        </div>
      ))}
    </>
  );
}
