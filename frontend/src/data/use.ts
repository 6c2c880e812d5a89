import { useEffect, useState } from "preact/hooks";
import type { ChunkName, ChunkOf } from "./load";
import { chunks } from "./load";

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
