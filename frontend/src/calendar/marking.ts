/** Where the cursor of a calendar is, what is marked and what is open; changed by keys and mouse. */

import { type Direction, type Interval, moved } from "../grid/blocks";
import type { Grid } from "../grid/grid";

export interface Marking {
  readonly cursor: number;
  /** The other end of what is marked; the cursor itself if nothing is. */
  readonly anchor: number;
  readonly hovered: number | null;
  readonly opened: Interval | null;
  readonly isDragging: boolean;
}

export interface Pressed {
  readonly key: string;
  readonly shiftKey: boolean;
  readonly ctrlKey: boolean;
  readonly metaKey: boolean;
}

export interface Pointed {
  readonly kind: "down" | "move" | "up" | "leave";
  /** The partition under the pointer, null beside all. */
  readonly at: number | null;
  readonly shiftKey: boolean;
  readonly isHeld: boolean;
}

const KEYS: Readonly<Record<string, Direction>> = {
  ArrowLeft: "left",
  ArrowRight: "right",
  ArrowUp: "up",
  ArrowDown: "down",
  Home: "blockStart",
  End: "blockEnd",
  PageUp: "blockUp",
  PageDown: "blockDown",
  "Control+Home": "first",
  "Control+End": "last",
};

/** Return a marking with the cursor on a partition and nothing marked. */
export function startAt(cursor: number): Marking {
  return { cursor, anchor: cursor, hovered: null, opened: null, isDragging: false };
}

/** Return the partitions between anchor and cursor. */
export function chosen({ cursor, anchor }: Marking): Interval {
  return { low: Math.min(cursor, anchor), high: Math.max(cursor, anchor) };
}

/** Return the marking after a key, null for a key that the calendar does not know. */
export function press(
  marking: Marking,
  event: Pressed,
  grid: Grid,
  intervals: readonly Interval[],
): Marking | null {
  const control = event.ctrlKey || event.metaKey;
  const direction = KEYS[(control ? "Control+" : "") + event.key];
  if (direction !== undefined) {
    const cursor = moved(grid, intervals, marking.cursor, direction);
    return { ...marking, cursor, anchor: event.shiftKey ? marking.anchor : cursor, hovered: null };
  }
  if (event.key === "Enter" || event.key === " ") return { ...marking, opened: chosen(marking) };
  if (event.key === "Escape") return { ...marking, anchor: marking.cursor };
  return null;
}

/** Return the marking after the pointer did something; a click opens, a drag opens what it marked. */
export function point(marking: Marking, { kind, at, shiftKey, isHeld }: Pointed): Marking {
  if (at === null) return marking.hovered === null ? marking : { ...marking, hovered: null };
  const anchor = kind === "down" && !shiftKey ? at : marking.anchor;
  const held = { ...marking, cursor: at, anchor, hovered: at };
  if (kind === "down") return { ...held, isDragging: true };
  if (!marking.isDragging) return at === marking.hovered ? marking : { ...marking, hovered: at };
  if (kind === "up") return { ...held, isDragging: false, opened: chosen(held) };
  return isHeld ? held : { ...marking, hovered: at, isDragging: false };
}
