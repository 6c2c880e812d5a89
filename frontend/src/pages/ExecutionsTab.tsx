import { useMemo } from "preact/hooks";
import type { ExecutionRow } from "../data/documents";
import { Chart } from "../parts/Chart";
import { useMore } from "../parts/More";
import { bytes, number, seconds } from "../parts/numbers";
import { State } from "../parts/State";
import { Table } from "../parts/Table";
import { Time } from "../parts/Time";
import { address } from "../shell/route";
import { executionLines } from "./executions";

/** The executions of a model: seconds and rows over time, then each with its reason. */
export function ExecutionsTab({ executions }: { readonly executions: readonly ExecutionRow[] }) {
  const [shown, more] = useMore(executions, 100);
  return (
    <>
      <Lines executions={executions} />
      <Table
        heads={[
          "Started",
          "Result",
          "Partitions",
          "Reason",
          "Rows",
          "Size",
          "Took",
          "Table version",
          "Step",
        ]}
        numbers={["Rows", "Size", "Took", "Table version"]}
      >
        {shown.map((each) => (
          <Execution key={each.step} {...each} />
        ))}
      </Table>
      {more}
    </>
  );
}

function Execution(row: ExecutionRow) {
  return (
    <tr>
      <td>
        <a href={address("run", row.run)}>
          <Time at={row.started} />
        </a>
      </td>
      <td>
        <State name={row.status} />
      </td>
      <td>{row.partitions}</td>
      <td>
        {row.reason}
        {row.error ? <div class="error">{row.error}</div> : null}
        {row.hint ? <div class="quiet">{row.hint}</div> : null}
      </td>
      <td class="number">{number(row.rows)}</td>
      <td class="number">{bytes(row.bytes)}</td>
      <td class="number">{seconds(row.seconds)}</td>
      <td class="number">{row.table_version === null ? "" : `v${row.table_version}`}</td>
      <td>
        <code>{row.step}</code>
      </td>
    </tr>
  );
}

function Lines({ executions }: { readonly executions: readonly ExecutionRow[] }) {
  const { times, lines } = useMemo(() => {
    const found = executionLines(executions);
    const took = {
      title: "Took",
      colour: "--state-current",
      values: found.seconds,
      text: seconds,
    };
    const rows = {
      title: "Rows",
      colour: "--state-sql_changed",
      values: found.rows,
      text: number,
      isDashed: true,
    };
    return { times: found.times, lines: [took, rows] };
  }, [executions]);
  if (times.length < 2) return null;
  return <Chart name="Duration and rows of each execution over time" times={times} lines={lines} />;
}
