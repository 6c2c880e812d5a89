import type { Loading } from "../data/use";

interface WaitingProps {
  readonly loading: Loading<unknown>;
  /** What is awaited, as the subject of a sentence. */
  readonly what: string;
}

/** What stands in the place of a chunk while it loads, or because it cannot be loaded. */
export function Waiting({ loading, what }: WaitingProps) {
  const { chunk, error } = loading;
  if (error) return <p role="alert">{`${what} cannot be shown: ${error}.`}</p>;
  return chunk ? null : <p role="status">Loading…</p>;
}
