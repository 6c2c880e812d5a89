import { options } from "preact";
import { useEffect, useState } from "preact/hooks";
import { listen } from "../parts/listen";

/** Browsers print what stands when `beforeprint` returns, so that change is drawn at once. */
function atOnce(change: () => void): void {
  const before = options.debounceRendering;
  options.debounceRendering = (draw) => draw();
  change();
  if (before) options.debounceRendering = before;
  else delete options.debounceRendering;
}

/** What is first shown while the page is printed did not hear of its beginning. */
const now = { isPrinting: false };

/** Follow whether the page is being printed, before any part of it does. */
export function startPrinting(): void {
  const set = (isPrinting: boolean) => () => void Object.assign(now, { isPrinting });
  listen({ beforeprint: set(true), afterprint: set(false) });
}

/** Return whether the page is being printed, when everything of it is shown. */
export function usePrinting(): boolean {
  const [isPrinting, setPrinting] = useState(now.isPrinting);
  useEffect(() => {
    const beforeprint = () => atOnce(() => setPrinting(true));
    const afterprint = () => setPrinting(false);
    return listen({ beforeprint, afterprint });
  }, []);
  return isPrinting;
}
