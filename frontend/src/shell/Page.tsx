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
import type { Router } from "./router";

interface PageProps {
  readonly router: Router;
  readonly project: ProjectDocument;
}

/** The page of an address. */
export function Page({ router, project }: PageProps) {
  const { route, go } = router;
  switch (route.page) {
    case "overview":
      return <OverviewPage project={project} />;
    case "models":
      return <ModelsPage project={project} router={router} />;
    case "model":
      return <ModelPage project={project} router={router} />;
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
    case "run":
      return <RunPage project={project} id={route.name} />;
    case "sources":
      return <SourcesPage project={project} shown={route.query.get("node") ?? ""} />;
    case "unknown":
      return <UnknownPage address={route.name} />;
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

function UnknownPage({ address }: { readonly address: string }) {
  return (
    <>
      <h1>Unknown page</h1>
      <p>
        No page has the address <code>{address}</code>. Go to the <a href="#/">overview</a>, or
        press <kbd>/</kbd> to search.
      </p>
    </>
  );
}
