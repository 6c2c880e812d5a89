import type { ColumnRow, ProjectDocument } from "../data/documents";
import { chunks } from "../data/load";
import { modelNamed, sourceNamed } from "../data/project";
import { LineagePage } from "../lineage/LineagePage";
import { ModelPage } from "../pages/ModelPage";
import { ModelsPage } from "../pages/ModelsPage";
import { OverviewPage } from "../pages/OverviewPage";
import { RunPage } from "../pages/RunPage";
import { RunsPage } from "../pages/RunsPage";
import { SourcesPage } from "../pages/SourcesPage";
import type { ListProps } from "./router";

/** The page of an address. */
export function Page({ router, project }: ListProps) {
  const { route, go } = router;
  switch (route.page) {
    case "overview":
      return <OverviewPage project={project} />;
    case "models":
      return <ModelsPage project={project} router={router} />;
    case "model": {
      const model = modelNamed(project, route.name);
      if (!model) return <Unknown kind="model" name={route.name} />;
      return <ModelPage model={model} project={project} router={router} />;
    }
    case "lineage":
      return (
        <LineagePage
          project={project}
          query={route.query}
          go={go}
          columns={(node) => columnsOf(project, node)}
        />
      );
    case "runs":
      return <RunsPage project={project} router={router} />;
    case "run": {
      const row = project.runs.find(({ id }) => id === route.name);
      if (!row) return <Unknown kind="run" name={route.name} />;
      return <RunPage row={row} project={project} />;
    }
    case "sources":
      return <SourcesPage project={project} shown={route.query.get("node") ?? ""} />;
    case "unknown":
      return <Unknown kind="page" name={route.name} />;
  }
}

async function columnsOf(
  project: ProjectDocument,
  node: string,
): Promise<readonly ColumnRow[] | null> {
  const model = modelNamed(project, node);
  if (!model) return sourceNamed(project, node)?.columns ?? null;
  return (await chunks.load(`model-${model.number}`)).columns;
}

function Unknown({ kind, name }: { readonly kind: string; readonly name: string }) {
  return (
    <>
      <h1>Unknown {kind}</h1>
      <p>
        This site has no {kind} <code>{name}</code>. Go to the <a href="#/">overview</a>, or press{" "}
        <kbd>/</kbd> to search.
      </p>
    </>
  );
}
