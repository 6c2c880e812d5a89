import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { usePrinting } from "../shell/printing";
import { number } from "./numbers";

/** Return the first items, and a button that shows all if there are more; print shows all. */
export function useMore<Item>(
  items: readonly Item[],
  most: number,
): readonly [readonly Item[], JSX.Element | null] {
  const [isAll, setAll] = useState(false);
  const isPrinting = usePrinting();
  if (isAll || isPrinting || items.length <= most) return [items, null];
  const button = (
    <button type="button" class="more" onClick={() => setAll(true)}>
      Show all {number(items.length)}
    </button>
  );
  return [items.slice(0, most), button];
}
