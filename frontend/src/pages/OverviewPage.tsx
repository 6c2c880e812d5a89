import type { Attention, PlannedCommand, ProjectDocument, RunRow } from "../data/documents";
import { modelsByState } from "../data/project";
import { Command } from "../parts/Command";
import { useMore } from "../parts/More";
import { Node } from "../parts/Node";
import { counted, number, seconds, share } from "../parts/numbers";
import { State } from "../parts/State";
import { inWords, stateLook } from "../parts/states";
import { Table } from "../parts/Table";
import { Time } from "../parts/Time";
import { absolute } from "../parts/times";
import { address } from "../shell/route";
import { calmSentence, runBars } from "./overview";
import "./overview.css";

/** The first page: what is wrong, the models by state, the last runs, what commands would do. */
export function OverviewPage({ project }: { readonly project: ProjectDocument }) {
  return (
    <>
      <h1>Overview</h1>
      <NeedsAttention project={project} />
      <ModelsByState project={project} />
      <LastRuns runs={project.runs} />
      {project.plans.map((plan) => (
        <Plan key={plan.command} plan={plan} project={project} />
      ))}
    </>
  );
}

function NeedsAttention({ project }: { readonly project: ProjectDocument }) {
  const [shown, more] = useMore(project.attention, 50);
  if (project.attention.length === 0) {
    return (
      <p class="calm">
        {calmSentence(project)} <Time at={project.made_at} />
      </p>
    );
  }
  return (
    <section aria-labelledby="attention">
      <h2 id="attention">Needs attention ({number(project.attention.length)})</h2>
      <ul class="attention">
        {shown.map((each) => (
          <Line key={`${each.kind} ${each.node} ${each.sentence}`} {...each} project={project} />
        ))}
      </ul>
      {more}
    </section>
  );
}

function Line({
  kind,
  node,
  sentence,
  command,
  project,
}: Attention & { project: ProjectDocument }) {
  return (
    <li>
      <State name={kind} />
      <span class="node">
        <Node project={project} node={node} />
      </span>
      <span class="sentence">{sentence}</span>
      {command ? <Command text={command} /> : null}
    </li>
  );
}

function ModelsByState({ project }: { readonly project: ProjectDocument }) {
  const counts = modelsByState(project);
  if (counts.length === 0) return null;
  return (
    <section aria-labelledby="states">
      <h2 id="states">{counted(project.models.length, "model")} by state</h2>
      <div class="bar" aria-hidden="true">
        {counts.map(([state, count]) => (
          <span
            key={state}
            style={{ flexGrow: count, background: `var(${stateLook(state).colour})` }}
            title={`${count} ${stateLook(state).words}`}
          >
            {stateLook(state).sign}
          </span>
        ))}
      </div>
      <ul class="legend">
        {counts.map(([state, count]) => (
          <li key={state}>
            <a href={address("models", "", { state })}>
              <State name={state} count={count} />
            </a>{" "}
            <span class="quiet">{share(count, project.models.length)}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function LastRuns({ runs }: { readonly runs: readonly RunRow[] }) {
  const bars = runBars(runs);
  if (bars.length === 0) return null;
  return (
    <section aria-labelledby="last-runs">
      <h2 id="last-runs">Last {counted(bars.length, "run")}</h2>
      <ol class="run-bars">
        {bars.map(({ run, seconds: duration, height }) => {
          const { words, sign, colour } = stateLook(run.status);
          const text = `${run.command}, ${words}, ${seconds(duration)}, ${absolute(run.started)}`;
          return (
            <li key={run.id}>
              <a href={address("run", run.id)} title={text} aria-label={text}>
                <span class="sign-above" aria-hidden="true">
                  {run.status === "success" ? "" : sign}
                </span>
                <span style={{ height: `${4 + 56 * height}px`, background: `var(${colour})` }} />
              </a>
            </li>
          );
        })}
      </ol>
      <p class="quiet">Height: duration. The newest run is on the right.</p>
    </section>
  );
}

function Plan({ plan, project }: { plan: PlannedCommand; project: ProjectDocument }) {
  const [shown, more] = useMore(plan.steps, 20);
  const hidden = plan.count - plan.steps.length;
  return (
    <section aria-label={plan.command}>
      <h2>
        <Command text={plan.command} />{" "}
        {plan.count ? `would run ${counted(plan.count, "step")}` : "has nothing to do"}
      </h2>
      {shown.length > 0 ? (
        <Table heads={["Model", "Partitions", "Reason"]}>
          {shown.map(({ model, partitions, reason }) => (
            <tr key={`${model} ${partitions} ${reason}`}>
              <td>
                <Node project={project} node={model} />
              </td>
              <td>{partitions}</td>
              <td>{inWords(reason)}</td>
            </tr>
          ))}
        </Table>
      ) : null}
      {more}
      {hidden > 0 ? <p class="quiet">And {counted(hidden, "more step")}.</p> : null}
    </section>
  );
}
