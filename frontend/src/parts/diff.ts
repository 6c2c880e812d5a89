export interface DiffLine {
  readonly kind: "same" | "removed" | "added";
  readonly line: string;
}

/** Texts with more pairs of lines than this are shown as removed and added as a whole. */
const MOST_PAIRS = 4e6;

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

/** Walk both texts along their longest common subsequence. */
function edit(a: readonly string[], b: readonly string[]): DiffLine[] {
  if (a.length * b.length > MOST_PAIRS) return [...mark("removed", a), ...mark("added", b)];
  const common = commonLengths(a, b);
  const lines: DiffLine[] = [];
  let x = 0;
  let y = 0;
  while (x < a.length && y < b.length) {
    if (a[x] === b[y]) {
      lines.push(...mark("same", a.slice(x, x + 1)));
      x += 1;
      y += 1;
    } else if (common(x + 1, y) >= common(x, y + 1)) {
      lines.push(...mark("removed", a.slice(x, x + 1)));
      x += 1;
    } else {
      lines.push(...mark("added", b.slice(y, y + 1)));
      y += 1;
    }
  }
  return [...lines, ...mark("removed", a.slice(x)), ...mark("added", b.slice(y))];
}

/** Return the length of the longest common subsequence of the rests from each two lines on. */
function commonLengths(a: readonly string[], b: readonly string[]) {
  const width = b.length + 1;
  const lengths = new Uint16Array((a.length + 1) * width);
  const at = (x: number, y: number) => lengths[x * width + y] ?? 0;
  for (let x = a.length - 1; x >= 0; x -= 1) {
    for (let y = b.length - 1; y >= 0; y -= 1) {
      const isSame = a[x] === b[y];
      lengths[x * width + y] = isSame ? at(x + 1, y + 1) + 1 : Math.max(at(x + 1, y), at(x, y + 1));
    }
  }
  return at;
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
