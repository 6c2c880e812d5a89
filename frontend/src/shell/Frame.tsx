import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { ProjectDocument } from "../data/documents";
import type { Connection } from "../data/live";
import { listen } from "../parts/listen";
import { Time } from "../parts/Time";
import { utc } from "../parts/times";
import { Notices } from "./Notices";
import type { Route } from "./route";
import { Search } from "./Search";
import { useTheme } from "./theme";

interface FrameProps {
  readonly route: Route;
  readonly project: ProjectDocument | undefined;
  readonly connection: Connection;
  readonly children: ComponentChildren;
}

/** What stands around every page: navigation, notices, the page itself, when it was made. */
export function Frame({ route, project, connection, children }: FrameProps) {
  const main = useFocusOnChange(`${route.page}/${route.name}`);
  const [isSearching, setSearching] = useState(false);
  useSlash(() => setSearching(true));
  return (
    <>
      <button type="button" class="skip" onClick={() => main.current?.focus()}>
        Skip to content
      </button>
      <header class="top">
        <Heading project={project} />
        <Navigation page={route.page} />
        <div class="tools">
          <button type="button" onClick={() => setSearching(true)} disabled={!project}>
            Search <kbd>/</kbd>
          </button>
          <ThemeSwitch />
        </div>
      </header>
      {project && isSearching ? (
        <Search project={project} close={() => setSearching(false)} />
      ) : null}
      <main id="content" ref={main} tabIndex={-1}>
        <ConnectionLine connection={connection} />
        {project ? <Notices notices={project.notices} /> : null}
        {children}
      </main>
      {project ? (
        <footer>
          Made <Time at={project.made_at} /> by penstock {project.penstock}, as of{" "}
          {utc(project.as_of)}.
        </footer>
      ) : null}
    </>
  );
}

/** Move the focus to a new page, so that keyboards and screen readers begin there. */
function useFocusOnChange(page: string) {
  const main = useRef<HTMLElement>(null);
  const before = useRef(page);
  useEffect(() => {
    if (before.current === page) return;
    before.current = page;
    scrollTo(0, 0);
    main.current?.focus({ preventScroll: true });
  }, [page]);
  return main;
}

/** Call `act` when `/` is pressed outside of fields. */
function useSlash(act: () => void): void {
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const isField = (event.target as Element).matches?.("input, select, textarea");
      if (event.key !== "/" || isField || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      act();
    };
    return listen({ keydown: press });
  });
}

function Heading({ project }: { readonly project: ProjectDocument | undefined }) {
  return (
    <a href="#/" class="project">
      {project?.project ?? "penstock"}
      {project ? <span class="target">{project.target}</span> : null}
    </a>
  );
}

const LINKS: readonly (readonly [string, string, readonly Route["page"][]])[] = [
  ["#/", "Overview", ["overview"]],
  ["#/models", "Models", ["models", "model"]],
  ["#/lineage", "Lineage", ["lineage"]],
  ["#/runs", "Runs", ["runs", "run"]],
  ["#/sources", "Sources", ["sources"]],
];

function Navigation({ page }: { readonly page: Route["page"] }) {
  return (
    <nav aria-label="Pages">
      {LINKS.map(([href, text, pages]) => (
        <a key={href} href={href} {...(pages.includes(page) ? { "aria-current": "page" } : {})}>
          {text}
        </a>
      ))}
    </nav>
  );
}

function ThemeSwitch() {
  const [theme, turn] = useTheme();
  return (
    <button type="button" onClick={turn}>
      {theme === "dark" ? "Light" : "Dark"}
    </button>
  );
}

function ConnectionLine({ connection }: { readonly connection: Connection }) {
  return (
    <div role="status" class="connection">
      {connection === "lost"
        ? "The server has stopped or cannot be reached. This page shows what it last reported."
        : null}
    </div>
  );
}
