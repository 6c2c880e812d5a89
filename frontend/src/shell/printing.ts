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

/** Return whether the page is being printed, when everything of it is shown. */
export function usePrinting(): boolean {
  const [isPrinting, setPrinting] = useState(false);
  useEffect(() => {
    const beforeprint = () => atOnce(() => setPrinting(true));
    const afterprint = () => setPrinting(false);
    return listen({ beforeprint, afterprint });
  }, []);
  return isPrinting;
}
