import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { number } from "./numbers";

/** Return the first items, and a button that shows all if there are more. */
export function useMore<Item>(
  items: readonly Item[],
  most: number,
): readonly [readonly Item[], JSX.Element | null] {
  const [isAll, setAll] = useState(false);
  if (isAll || items.length <= most) return [items, null];
  const button = (
    <button type="button" class="more" onClick={() => setAll(true)}>
      Show all {number(items.length)}
    </button>
  );
  return [items.slice(0, most), button];
}
