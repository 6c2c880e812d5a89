import type { ProjectDocument, RunDocument, RunRow } from "../data/documents";
import { useChunk } from "../data/use";
import { Command } from "../parts/Command";
import { Facts } from "../parts/Facts";
import { counted, seconds } from "../parts/numbers";
import { State } from "../parts/State";
import { Time } from "../parts/Time";
import { secondsBetween } from "../parts/times";
import { Waiting } from "../parts/Waiting";
import { RunTimeline } from "../timeline/RunTimeline";

/** One run and its steps on a time axis. */
export function RunPage({ row, project }: { row: RunRow; project: ProjectDocument }) {
  const loading = useChunk(`runs-${row.chunk}`);
  const { chunk } = loading;
  const run = chunk?.runs.find((each) => each.id === row.id);
  return (
    <>
      <h1>Run {row.id}</h1>
      <Waiting loading={loading} what="The run" />
      {chunk && !run ? <p role="alert">Its file does not contain this run.</p> : null}
      {run ? <Run run={run} project={project} /> : null}
    </>
  );
}

function Run({ run, project }: { readonly run: RunDocument; readonly project: ProjectDocument }) {
  return (
    <>
      <p>
        <State name={run.status} /> {counted(run.steps.length, "step")}
      </p>
      <Facts facts={facts(run)} />
      <RunTimeline run={run} project={project} />
    </>
  );
}

function facts(run: RunDocument) {
  const { started, ended, user, host } = run;
  return [
    ["Command", <Command key="command" text={commandLine(run)} />],
    ["Started", <Time key="started" at={started} />],
    ["Took", ended ? seconds(secondsBetween(started, ended)) : "not ended yet"],
    ["By", [user, host].filter(Boolean).join(" on ")],
  ] as const;
}

/** Return what was typed; a run from Python has only the name of its command. */
function commandLine({ command, arguments: typed }: RunDocument): string {
  return `penstock ${typed || command}`;
}
