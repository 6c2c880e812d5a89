/** Return the sum of the counts of each key, in the order in which keys first appear. */
export function sumByKey<Key>(counts: Iterable<readonly [Key, number]>): Map<Key, number> {
  const sums = new Map<Key, number>();
  for (const [key, count] of counts) sums.set(key, (sums.get(key) ?? 0) + count);
  return sums;
}

/** Return the values of each key, in the order in which keys first appear. */
export function listByKey<Key, Value>(
  pairs: Iterable<readonly [Key, Value]>,
): Map<Key, readonly Value[]> {
  const lists = new Map<Key, Value[]>();
  for (const [key, value] of pairs) {
    const list = lists.get(key);
    if (list) list.push(value);
    else lists.set(key, [value]);
  }
  return lists;
}
