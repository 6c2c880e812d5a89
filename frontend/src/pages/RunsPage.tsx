import { useMemo } from "preact/hooks";
import type { RunRow } from "../data/documents";
import { Choice } from "../parts/Choice";
import { counted, seconds } from "../parts/numbers";
import { type Column, numberColumn, Rows, textColumn } from "../parts/Rows";
import { State } from "../parts/State";
import { stateLook } from "../parts/states";
import { Time } from "../parts/Time";
import { secondsBetween } from "../parts/times";
import { address } from "../shell/route";
import type { ListProps } from "../shell/router";

/** All runs, newest first. */
export function RunsPage({ project, router }: ListProps) {
  const { query } = router.route;
  const status = query.get("status") ?? "";
  const runs = useMemo(
    () => project.runs.filter((run) => !status || run.status === status),
    [project, status],
  );
  const statuses = [...new Set(project.runs.map((each) => each.status))].sort();
  return (
    <>
      <h1>Runs</h1>
      <search class="filters">
        <Choice
          title="Result"
          none="all"
          values={statuses}
          words={(each) => stateLook(each).words}
          chosen={status}
          choose={(next) => router.go({ status: next })}
        />
        <span role="status">{counted(runs.length, "run")}</span>
      </search>
      <Rows
        name="Runs"
        rows={runs}
        columns={RUN_COLUMNS}
        id={(run) => run.id}
        sort={query.get("sort") ?? "-started"}
        sortBy={(next) => router.go({ sort: next })}
      />
    </>
  );
}

/** The columns of the table of runs. */
export const RUN_COLUMNS: readonly Column<RunRow>[] = [
  {
    id: "started",
    title: "Started",
    width: 160,
    key: ({ started }) => started,
    cell: ({ id, started }) => (
      <a href={address("run", id)}>
        <Time at={started} />
      </a>
    ),
  },
  textColumn("command", "Command", 110, ({ command }) => command),
  {
    id: "status",
    title: "Result",
    width: 150,
    key: ({ status }) => status,
    cell: ({ status }) => <State name={status} />,
  },
  numberColumn("models", "Models", 80, ({ models }) => models),
  numberColumn("failed", "Failed", 80, ({ failed }) => failed),
  numberColumn("seconds", "Took", 100, (run) => secondsBetween(run.started, run.ended), seconds),
  { id: "id", title: "Run", width: 300, key: ({ id }) => id, cell: ({ id }) => <code>{id}</code> },
];
