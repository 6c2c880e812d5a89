/** What rows are sorted by; null comes last in both orders. */
export type Key = string | number | null;

/** Return rows sorted by a key; a minus before `sort` means descending. Equal rows keep places. */
export function sortRows<Row>(
  rows: readonly Row[],
  key: (row: Row) => Key,
  sort: string,
): readonly Row[] {
  const sign = sort.startsWith("-") ? -1 : 1;
  const keyed = rows.map((row) => ({ row, key: key(row) }));
  keyed.sort((a, b) => compare(a.key, b.key, sign));
  return keyed.map(({ row }) => row);
}

function compare(a: Key, b: Key, sign: number): number {
  if (a === b) return 0;
  if (a === null || b === null) return a === null ? 1 : -1;
  return a < b ? -sign : sign;
}
