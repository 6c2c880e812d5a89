import { useMemo } from "preact/hooks";
import type { ColumnRow, ProjectDocument } from "../data/documents";
import { useAwaited } from "../data/use";
import { counted } from "../parts/numbers";
import type { Values } from "../shell/route";
import type { Go } from "../shell/router";
import { projectGraph } from "./ahead";
import { CopyAs } from "./CopyAs";
import { GraphView } from "./GraphView";
import type { Graph } from "./graph";
import "./lineage.css";
import { NodePanel } from "./NodePanel";
import { groupNamed, type Scene } from "./scene";
import { SelectionError } from "./selection";
import { NEW, readSettings, type Settings, sceneAsked, writeList } from "./settings";
import { Toolbar } from "./Toolbar";
import { type Columns, type Trace, traceColumn } from "./trace";

interface LineagePageProps {
  readonly project: ProjectDocument;
  readonly query: URLSearchParams;
  readonly go: Go;
  readonly columns: (node: string) => Promise<readonly ColumnRow[] | null>;
}

/** The graph of models, seeds and sources: a selection, all by schemas, or all as dots. */
export function LineagePage({ project, query, go, columns }: LineagePageProps) {
  const graph = projectGraph(project);
  const settings = readSettings(query, graph.nodes.length);
  const { scene, error } = useScene(project, graph, settings);
  const node = settings.node !== null && graph.parents.has(settings.node) ? settings.node : null;
  const trace = useTrace(node, settings.column, graph, columns);
  const lit = useMemo(() => (trace === null ? null : new Set(trace.columns.keys())), [trace]);
  const onOpen = (id: string) => go(changesOfClick(id, settings));
  return (
    <div class="lineage">
      <h1>Lineage</h1>
      <Toolbar key={settings.select} settings={settings} go={go} />
      {error && (
        <p class="error" role="alert">
          {error.message}
          {error.hint !== "" && <span> Hint: {error.hint}</span>}
        </p>
      )}
      {scene && (
        <>
          <p class="lineage-head">
            {counted(scene.nodes.length, "node")}, {counted(scene.edges.length, "edge")}
            <CopyAs scene={scene} />
          </p>
          <div class="lineage-sides">
            <GraphView scene={scene} chosen={node} lit={lit} onOpen={onOpen} />
            {node !== null && (
              <NodePanel
                {...{ project, graph, node, trace, columns }}
                column={settings.column}
                onColumn={(column) => go({ column })}
                onlyThis={() => go(onlyNode(node))}
              />
            )}
          </div>
        </>
      )}
    </div>
  );
}

/** A group opens; a node of a graph brings its neighbours; a dot is only shown at the side. */
function changesOfClick(id: string, settings: Settings): Values {
  const group = groupNamed(id);
  if (group !== null) return { view: "schemas", open: writeList([...settings.opened, group]) };
  const isGrowing = settings.picture === "graph" && settings.select !== "";
  const grow = isGrowing ? [...settings.grown, id] : settings.grown;
  return { node: id, column: null, grow: writeList(grow) };
}

/** Sources and seeds are no models, so they are selected by those that read them. */
function onlyNode(node: string): Values {
  const isSource = node.startsWith("source:");
  return { ...NEW, select: isSource ? `${node}+1` : `1+${node}+1`, node };
}

interface Asked {
  readonly scene: Scene | null;
  readonly error: SelectionError | null;
}

function useScene(project: ProjectDocument, graph: Graph, settings: Settings): Asked {
  const { select, depth, picture, grown, opened } = settings;
  return useMemo(() => {
    try {
      return { scene: sceneAsked(project, graph, settings), error: null };
    } catch (error) {
      if (error instanceof SelectionError) return { scene: null, error };
      throw error;
    }
  }, [project, graph, select, depth, picture, grown.join("\n"), opened.join("\n")]);
}

function useTrace(
  node: string | null,
  column: string | null,
  { children }: Graph,
  columns: Columns,
): Trace | null {
  const isAsked = node !== null && column !== null;
  const trace = () => (isAsked ? traceColumn({ node, column }, children, columns) : null);
  return useAwaited(trace, [node, column, children]).chunk ?? null;
}
