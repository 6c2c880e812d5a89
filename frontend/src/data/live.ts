import { chunks, SERVED } from "./load";

/** Whether an open page hears of changes: only `penstock docs serve` has something to say. */
export type Connection = "none" | "open" | "lost";

/** Return whether a page comes from `docs serve`: `docs generate` names another folder of data. */
export function isServed(protocol: string, folder: string): boolean {
  return protocol.startsWith("http") && folder === SERVED;
}

export interface Events {
  onopen: ((event: Event) => unknown) | null;
  onerror: ((event: Event) => unknown) | null;
  onmessage: ((message: MessageEvent<string>) => unknown) | null;
  readonly readyState: number;
  close(): void;
}

const CLOSED = 2;

/** Return the names of changed chunks in a message of `serve`; none if it says something else. */
export function changedChunks(message: string): readonly string[] {
  try {
    const { chunks: names } = JSON.parse(message) as { chunks?: unknown };
    return Array.isArray(names) ? names.filter((name) => typeof name === "string") : [];
  } catch {
    return [];
  }
}

/**
 * Load changed chunks again as `serve` names them, until the returned function is called.
 *
 * Only pages of `serve` ask, never those of `generate`. After a lost connection everything shown is
 * loaded again, since messages may have been missed.
 */
export function followServer(
  isServed: boolean,
  open: (address: string) => Events,
  changed: (connection: Connection) => void,
  reload: (names: readonly string[]) => void = (names) => chunks.reload(names),
  asked: () => readonly string[] = () => chunks.names(),
): () => void {
  if (!isServed) return () => {};
  const events = open("events");
  let connection: Connection = "none";
  const turn = (next: Connection) => {
    if (next === connection) return;
    connection = next;
    changed(next);
  };
  events.onopen = () => {
    if (connection === "lost") reload(asked());
    turn("open");
  };
  events.onerror = () => {
    if (connection !== "none") turn("lost");
    else if (events.readyState === CLOSED) events.close();
  };
  events.onmessage = ({ data }) => reload(changedChunks(data));
  return () => events.close();
}
