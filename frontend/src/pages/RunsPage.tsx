import { useMemo } from "preact/hooks";
import type { ProjectDocument, RunRow } from "../data/documents";
import { Choice } from "../parts/Choice";
import { counted, number, seconds } from "../parts/numbers";
import type { Column } from "../parts/Rows";
import { Rows } from "../parts/Rows";
import { State } from "../parts/State";
import { stateLook } from "../parts/states";
import { Time } from "../parts/Time";
import { secondsBetween } from "../parts/times";
import { address } from "../shell/route";
import type { Router } from "../shell/router";
import { listRuns } from "./runs";

interface RunsPageProps {
  readonly project: ProjectDocument;
  readonly router: Router;
}

/** All runs, newest first. */
export function RunsPage({ project, router }: RunsPageProps) {
  const { query } = router.route;
  const sort = query.get("sort") ?? "-started";
  const status = query.get("status") ?? "";
  const runs = useMemo(() => listRuns(project.runs, status, sort), [project, status, sort]);
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
        columns={COLUMNS}
        id={(run) => run.id}
        sort={sort}
        sortBy={(next) => router.go({ sort: next })}
      />
    </>
  );
}

const COLUMNS: readonly Column<RunRow>[] = [
  {
    id: "started",
    title: "Started",
    width: 20,
    cell: ({ id, started }) => (
      <a href={address("run", id)}>
        <Time at={started} />
      </a>
    ),
  },
  { id: "command", title: "Command", width: 12, cell: ({ command }) => command },
  { id: "status", title: "Result", width: 14, cell: ({ status }) => <State name={status} /> },
  { id: "models", title: "Models", width: 10, isNumber: true, cell: (run) => number(run.models) },
  { id: "failed", title: "Failed", width: 10, isNumber: true, cell: (run) => number(run.failed) },
  {
    id: "seconds",
    title: "Took",
    width: 12,
    isNumber: true,
    cell: ({ started, ended }) => seconds(secondsBetween(started, ended)),
  },
  { id: "id", title: "Run", width: 22, cell: ({ id }) => <code>{id}</code> },
];
