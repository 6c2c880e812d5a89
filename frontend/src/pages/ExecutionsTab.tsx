import type { ExecutionRow } from "../data/documents";
import { Chart, type ChartLine } from "../parts/Chart";
import { bytes, number, seconds } from "../parts/numbers";
import { State } from "../parts/State";
import { inWords } from "../parts/states";
import { Table } from "../parts/Table";
import { Time } from "../parts/Time";
import { address } from "../shell/route";
import { executionLines, versionsByDay } from "./executions";

interface ExecutionsTabProps {
  readonly executions: readonly ExecutionRow[];
}

const NUMBERS = ["Rows", "Size", "Took", "Table version"];

/** The executions of a model: seconds and rows over time, then each with its reason. */
export function ExecutionsTab({ executions }: ExecutionsTabProps) {
  return (
    <>
      <Durations executions={executions} />
      <Versions executions={executions} />
      <Table
        heads={["Started", "Result", "Partitions", "Reason", ...NUMBERS, "Step"]}
        numbers={NUMBERS}
      >
        {executions.map((each) => (
          <Execution key={each.step} {...each} />
        ))}
      </Table>
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
        {inWords(row.reason)}
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

function line(
  title: string,
  scale: string,
  values: ChartLine["values"],
  text: ChartLine["text"],
  isDashed = false,
): ChartLine {
  const colour = isDashed ? "--state-sql_changed" : "--state-current";
  return { title, scale, values, text, colour, isDashed };
}

function Durations({ executions }: ExecutionsTabProps) {
  const { times, seconds: took, rows } = executionLines(executions);
  if (times.length < 2) return null;
  const name = "Duration and rows of each execution over time";
  const lines = [line("Took", "seconds", took, seconds), line("Rows", "rows", rows, number, true)];
  return <Chart name={name} times={times} lines={lines} />;
}

/** For tables with a history of their rows. */
function Versions({ executions }: ExecutionsTabProps) {
  const { days, opened, closed } = versionsByDay(executions);
  if (days.length === 0) return null;
  const times = days.map((day) => Date.parse(`${day}T00:00:00`) / 1000);
  const name = "Versions of rows opened and closed a day";
  const closedLine = line("Closed", "versions", closed, number, true);
  const lines = [line("Opened", "versions", opened, number), closedLine];
  return (
    <>
      <h3>Versions opened and closed a day</h3>
      <Chart name={name} times={times} lines={lines} />
    </>
  );
}
