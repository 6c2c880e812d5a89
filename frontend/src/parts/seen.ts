const BEYOND = 10;

/**
 * Return which of `count` rows of one height are in sight, with some more on both sides: those from
 * `first` up to but not including `end`.
 */
export function seenRows(top: number, height: number, row: number, count: number) {
  const first = Math.max(0, Math.min(Math.floor(top / row), count) - BEYOND);
  const end = Math.min(count, Math.ceil((top + height) / row) + BEYOND);
  return { first: Math.min(first, end), end };
}
