import type { ModelDocument, ModelRow, ProjectDocument } from "../data/documents";
import { stateCounts } from "../data/project";
import { useChunk } from "../data/use";
import { Neighbours } from "../lineage/Neighbours";
import { Command } from "../parts/Command";
import { codeFact, Facts } from "../parts/Facts";
import { Html } from "../parts/Html";
import { bytes, number } from "../parts/numbers";
import { State } from "../parts/State";
import { Tabs } from "../parts/Tabs";
import { Time } from "../parts/Time";
import { Waiting } from "../parts/Waiting";
import { address } from "../shell/route";
import type { Router } from "../shell/router";
import "./model.css";
import { modelTabs } from "./tabs";

interface ModelPageProps {
  readonly model: ModelRow;
  readonly project: ProjectDocument;
  readonly router: Router;
}

/** One model: what it is and how it stands, its tabs, and its neighbours at the side. */
export function ModelPage({ model, project, router }: ModelPageProps) {
  const details = useChunk(`model-${model.number}`);
  const { chunk } = details;
  const partitions = useChunk(model.partitions > 0 ? `partitions-${model.number}` : null);
  const tabs = chunk ? modelTabs({ model, chunk, partitions, project, router }) : [];
  return (
    <div class="with-side">
      <article>
        <Header model={model} chunk={chunk} project={project} />
        <Waiting loading={details} what="This model" />
        <Tabs
          name={`Parts of ${model.name}`}
          tabs={tabs}
          shown={router.route.query.get("tab") ?? ""}
          show={(tab) => router.go({ tab })}
        />
      </article>
      <aside aria-label="Lineage">
        <h2>Lineage</h2>
        <Neighbours project={project} node={model.name} />
        <p>
          <a href={address("lineage", "", { select: `1+${model.name}+1` })}>Show in the graph</a>
        </p>
      </aside>
    </div>
  );
}

type HeaderProps = Omit<ModelPageProps, "router"> & { chunk: ModelDocument | undefined };

function Header({ model, chunk, project }: HeaderProps) {
  const isWhole = model.grain === "*";
  const attention = project.attention.filter((each) => each.node === model.name);
  return (
    <header class="model">
      <h1>{model.name}</h1>
      <p class="states">
        {stateCounts(project, model).map(([state, count]) => (
          <State key={state} name={state} {...(isWhole ? {} : { count })} />
        ))}
      </p>
      {model.lines.map((line) => (
        <p key={line}>{line}</p>
      ))}
      {attention.map(({ kind, sentence, command }) => (
        <p key={`${kind} ${sentence}`}>
          <State name={kind} /> {sentence} {command ? <Command text={command} /> : null}
        </p>
      ))}
      <Facts facts={facts(model, chunk?.place ?? "", chunk?.exposures ?? [])} />
      <Html html={chunk?.description_html ?? ""} />
    </header>
  );
}

function facts(model: ModelRow, place: string, exposures: readonly string[]) {
  return [
    ["Kind", [model.kind, model.strategy].filter(Boolean).join(", ")],
    ["Grain", model.grain === "*" ? "" : model.grain.toLowerCase()],
    ["Owner", model.owner],
    ["Tags", model.tags.length ? <Tags tags={model.tags} /> : ""],
    ["Exposures", exposures.join(", ")],
    ["Package", model.package],
    ["File", codeFact(model.file && `${model.file}:${model.line}`)],
    ["Table", codeFact(model.table)],
    ["Place", codeFact(place)],
    ["Rows", model.rows === null ? "" : number(model.rows)],
    ["Size", model.bytes === null ? "" : bytes(model.bytes)],
    ["Last built", model.built_at ? <Time at={model.built_at} /> : ""],
  ] as const;
}

function Tags({ tags }: { readonly tags: readonly string[] }) {
  return (
    <>
      {tags.map((tag) => (
        <a key={tag} class="tag" href={address("models", "", { tag })}>
          {tag}
        </a>
      ))}
    </>
  );
}
