import { useEffect, useState } from "preact/hooks";
import { type ChunkName, type ChunkOf, chunks } from "./load";

/** A chunk that a page waits for: neither field while it loads. */
export interface Loading<Chunk> {
  readonly chunk?: Chunk;
  readonly error?: string;
}

interface Named<Chunk> extends Loading<Chunk> {
  readonly name: string | null;
}

/** Load a chunk, again when it changes; null loads nothing. The old one is shown meanwhile. */
export function useChunk<Name extends ChunkName>(name: Name | null): Loading<ChunkOf<Name>> {
  const [loading, setLoading] = useState<Named<ChunkOf<Name>>>({ name });
  useEffect(() => {
    if (name === null) return;
    let isShown = true;
    const load = () =>
      chunks.load(name).then(
        (chunk) => isShown && setLoading({ name, chunk }),
        (reason: Error) => isShown && setLoading({ name, error: reason.message }),
      );
    const unfollow = chunks.follow((names) => names.includes(name) && load());
    load();
    return () => {
      isShown = false;
      unfollow();
    };
  }, [name]);
  return loading.name === name ? loading : {};
}

const AWAITED: Loading<never> = {};

/** Await what `start` returns, again whenever one of `inputs` changes; null awaits nothing. */
export function useAwaited<Chunk>(
  start: () => Promise<Chunk> | null,
  inputs: readonly unknown[],
): Loading<Chunk> {
  const [loading, setLoading] = useState<Loading<Chunk>>(AWAITED);
  useEffect(() => {
    let isWanted = true;
    setLoading(AWAITED);
    start()?.then(
      (chunk) => isWanted && setLoading({ chunk }),
      (reason: Error) => isWanted && setLoading({ error: reason.message }),
    );
    return () => {
      isWanted = false;
    };
  }, inputs);
  return loading;
}
