import { useEffect, useRef } from "preact/hooks";
import type { ProjectDocument, SourceRow } from "../data/documents";
import { codeFact, Facts } from "../parts/Facts";
import { Html } from "../parts/Html";
import { Node } from "../parts/Node";
import { counted, seconds } from "../parts/numbers";
import { State } from "../parts/State";
import { Time } from "../parts/Time";
import { usePrinting } from "../shell/printing";
import { ColumnsTab } from "./ColumnsTab";
import "./sources.css";

interface SourcesPageProps {
  readonly project: ProjectDocument;
  /** The node that the address names, "" for none. */
  readonly shown: string;
}

/** Sources and seeds: how fresh they are, and what reads them. */
export function SourcesPage({ project, shown }: SourcesPageProps) {
  return (
    <>
      <h1>Sources and seeds</h1>
      {project.sources.length === 0 ? <p>This project reads no sources and has no seeds.</p> : null}
      {project.sources.map((source) => (
        <Source
          key={source.node}
          source={source}
          project={project}
          isShown={source.node === shown}
        />
      ))}
    </>
  );
}

interface SourceProps {
  readonly source: SourceRow;
  readonly project: ProjectDocument;
  readonly isShown: boolean;
}

function Source({ source, project, isShown }: SourceProps) {
  const isPrinting = usePrinting();
  const place = useRef<HTMLElement>(null);
  const isLate = project.attention.some((a) => a.kind === "late" && a.node === source.node);
  useEffect(() => {
    if (isShown) place.current?.scrollIntoView({ block: "start" });
  }, [isShown]);
  return (
    <article class={isShown ? "source shown" : "source"} ref={place}>
      <h2>
        {source.node} {isLate ? <State name="late" /> : null}
      </h2>
      <Facts facts={facts(source)} />
      <Html html={source.description_html} />
      <p>
        Read by{" "}
        {source.read_by.length === 0
          ? "nothing"
          : source.read_by.map((node, n) => (
              <span key={node}>
                {n ? ", " : ""}
                <Node project={project} node={node} />
              </span>
            ))}
      </p>
      {source.columns.length ? (
        <details open={isShown || isPrinting}>
          <summary>{counted(source.columns.length, "column")}</summary>
          <ColumnsTab columns={source.columns} checks={[]} project={project} />
        </details>
      ) : null}
    </article>
  );
}

function facts(source: SourceRow) {
  const limit = source.limit === null ? "" : `, at most ${seconds(source.limit)} old`;
  const newest = (
    <>
      <Time at={source.newest_row_at} isRelative />
      {limit}
    </>
  );
  return [
    ["Kind", [source.kind, source.format].filter(Boolean).join(", ")],
    ["Newest row", source.newest_row_at || limit ? newest : ""],
    ["Changed", source.changed_at ? <Time at={source.changed_at} isRelative /> : ""],
    ["Version", source.version],
    ["Table", codeFact(source.table)],
    ["Path", codeFact(source.path)],
    ["File", codeFact(source.file && `${source.file}:${source.line}`)],
  ] as const;
}
