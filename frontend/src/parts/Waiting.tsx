import type { Loading } from "../data/use";

/** What is shown of `what` while it loads, or because it cannot be loaded. */
export function Waiting({ loading, what }: { loading: Loading<unknown>; what: string }) {
  const { chunk, error } = loading;
  if (error) return <p role="alert">{`${what} cannot be shown: ${error}.`}</p>;
  return chunk ? null : <p role="status">Loading…</p>;
}
