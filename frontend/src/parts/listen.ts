type Listeners = {
  readonly [Type in keyof WindowEventMap]?: (event: WindowEventMap[Type]) => void;
};

/** Call listeners for events of the window until the returned function is called. */
export function listen(listeners: Listeners): () => void {
  const stop = new AbortController();
  for (const [type, listener] of Object.entries(listeners)) {
    addEventListener(type, listener as EventListener, { signal: stop.signal });
  }
  return () => stop.abort();
}
