import { useCallback, useEffect, useState } from "preact/hooks";
import type { ProjectDocument } from "../data/documents";
import { listen } from "../parts/listen";
import { changed, type Route, readRoute, type Values } from "./route";

export type Go = (changes: Values) => void;

export interface Router {
  readonly route: Route;
  /** Change values of the address as a step that the back button undoes. */
  readonly go: Go;
  /** Change values of the address without such a step, as while typing. */
  readonly replace: Go;
}

/** What a page of lists shows: the project, as the address says. */
export interface ListProps {
  readonly project: ProjectDocument;
  readonly router: Router;
}

/** Follow the address of the page. */
export function useRouter(): Router {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const follow = () => setHash(location.hash);
    return listen({ hashchange: follow, popstate: follow });
  }, []);
  const go = useCallback((changes: Values) => {
    location.hash = changed(readRoute(location.hash), changes);
    setHash(location.hash);
  }, []);
  const replace = useCallback((changes: Values) => {
    history.replaceState(history.state, "", changed(readRoute(location.hash), changes));
    setHash(location.hash);
  }, []);
  return { route: readRoute(hash), go, replace };
}
