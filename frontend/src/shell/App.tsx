import { useEffect, useState } from "preact/hooks";
import { type Connection, followServer, isServed } from "../data/live";
import { dataFolder } from "../data/load";
import { useChunk } from "../data/use";
import { makeAhead } from "../lineage/ahead";
import { Waiting } from "../parts/Waiting";
import { Frame } from "./Frame";
import { Page } from "./Page";
import { title } from "./route";
import { useRouter } from "./router";

/** The whole site: the frame, and the page that the address names. */
export function App() {
  const router = useRouter();
  const loading = useChunk("project");
  const project = loading.chunk;
  const connection = useConnection();
  const { route } = router;
  const heading = title(route, project?.project ?? "");
  useEffect(() => {
    document.title = heading;
  }, [heading]);
  useEffect(() => (project ? makeAhead(project) : undefined), [project]);
  const place = `${route.page}/${route.name}`;
  return (
    <Frame route={route} project={project} connection={connection}>
      <Waiting loading={loading} what="The site" />
      {project ? <Page key={place} router={router} project={project} /> : null}
    </Frame>
  );
}

function useConnection(): Connection {
  const [connection, setConnection] = useState<Connection>("none");
  useEffect(
    () =>
      followServer(
        isServed(location.protocol, dataFolder()),
        (address) => new EventSource(address),
        setConnection,
      ),
    [],
  );
  return connection;
}
