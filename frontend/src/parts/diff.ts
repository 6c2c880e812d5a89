export interface DiffLine {
  readonly kind: "same" | "removed" | "added";
  readonly line: string;
}

/** Beyond this number of differences, texts are shown as removed and added as a whole. */
const MOST_DIFFERENCES = 2000;

/** Return the shortest edit of `before` to `after`, by lines; removed lines come before added. */
export function lineDiff(before: readonly string[], after: readonly string[]): readonly DiffLine[] {
  const head = commonLength(before, after, (lines, n) => lines[n]);
  const restBefore = before.slice(head);
  const restAfter = after.slice(head);
  const tail = commonLength(restBefore, restAfter, (lines, n) => lines[lines.length - 1 - n]);
  const removed = restBefore.slice(0, restBefore.length - tail);
  const added = restAfter.slice(0, restAfter.length - tail);
  return [
    ...mark("same", before.slice(0, head)),
    ...removedFirst(edit(removed, added)),
    ...mark("same", before.slice(before.length - tail)),
  ];
}

function mark(kind: DiffLine["kind"], lines: readonly string[]): DiffLine[] {
  return lines.map((line) => ({ kind, line }));
}

type LineAt = (lines: readonly string[], n: number) => string | undefined;

function commonLength(a: readonly string[], b: readonly string[], at: LineAt): number {
  const most = Math.min(a.length, b.length);
  let length = 0;
  while (length < most && at(a, length) === at(b, length)) length += 1;
  return length;
}

/** Myers' algorithm: the furthest point reached on each diagonal, one row for each difference. */
function edit(a: readonly string[], b: readonly string[]): DiffLine[] {
  const rows: Int32Array[] = [];
  const most = Math.min(a.length + b.length, MOST_DIFFERENCES);
  const middle = most + 1;
  const reach = new Int32Array(2 * middle + 1);
  for (let differences = 0; differences <= most; differences += 1) {
    rows.push(reach.slice(middle - differences - 1, middle + differences + 2));
    for (let diagonal = -differences; diagonal <= differences; diagonal += 2) {
      let x = nextStart(reach, middle + diagonal, diagonal, differences);
      while (x < a.length && x - diagonal < b.length && a[x] === b[x - diagonal]) x += 1;
      reach[middle + diagonal] = x;
      if (x >= a.length && x - diagonal >= b.length) return walkBack(a, b, rows);
    }
  }
  return [...mark("removed", a), ...mark("added", b)];
}

function nextStart(reach: Int32Array, at: number, diagonal: number, differences: number): number {
  const below = reach[at - 1] ?? 0;
  const above = reach[at + 1] ?? 0;
  return goesDown(below, above, diagonal, differences) ? above : below + 1;
}

function goesDown(below: number, above: number, diagonal: number, differences: number): boolean {
  return diagonal === -differences || (diagonal !== differences && below < above);
}

function walkBack(a: readonly string[], b: readonly string[], rows: Int32Array[]): DiffLine[] {
  const found: DiffLine[] = [];
  let x = a.length;
  let y = b.length;
  for (let differences = rows.length - 1; differences > 0; differences -= 1) {
    const row = rows[differences] ?? new Int32Array();
    const at = x - y + differences + 1;
    const below = row[at - 1] ?? 0;
    const above = row[at + 1] ?? 0;
    const down = goesDown(below, above, x - y, differences);
    const start = down ? above : below + 1;
    for (; x > start; x -= 1, y -= 1) found.push({ kind: "same", line: a[x - 1] ?? "" });
    if (down) found.push({ kind: "added", line: b[--y] ?? "" });
    else found.push({ kind: "removed", line: a[--x] ?? "" });
  }
  for (; x > 0; x -= 1) found.push({ kind: "same", line: a[x - 1] ?? "" });
  return found.reverse();
}

/** Within each change, put removed lines before added ones. */
function removedFirst(lines: readonly DiffLine[]): DiffLine[] {
  const sorted: DiffLine[] = [];
  let added: DiffLine[] = [];
  for (const each of lines) {
    if (each.kind === "added") added.push(each);
    else if (each.kind === "removed") sorted.push(each);
    else {
      sorted.push(...added, each);
      added = [];
    }
  }
  return [...sorted, ...added];
}

/** One row of two columns: a text and what stands beside it, null where it has no partner. */
export interface DiffRow {
  readonly before: string | null;
  readonly after: string | null;
  readonly isSame: boolean;
}

/** Return a difference as rows side by side; the nth removed line stands beside the nth added. */
export function sideBySide(lines: readonly DiffLine[]): readonly DiffRow[] {
  const rows: DiffRow[] = [];
  let removed: string[] = [];
  let added: string[] = [];
  const flush = () => {
    for (let n = 0; n < Math.max(removed.length, added.length); n += 1) {
      rows.push({ before: removed[n] ?? null, after: added[n] ?? null, isSame: false });
    }
    removed = [];
    added = [];
  };
  for (const { kind, line } of lines) {
    if (kind === "removed") removed.push(line);
    else if (kind === "added") added.push(line);
    else {
      flush();
      rows.push({ before: line, after: line, isSame: true });
    }
  }
  flush();
  return rows;
}
