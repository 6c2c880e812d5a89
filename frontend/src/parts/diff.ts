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

/** A change, and the lines after it that are the same. */
type Piece = Readonly<Record<DiffLine["kind"], string[]>>;

function piecesOf(lines: readonly DiffLine[]): readonly Piece[] {
  let piece: Piece = { removed: [], added: [], same: [] };
  const pieces = [piece];
  for (const { kind, line } of lines) {
    if (kind !== "same" && piece.same.length > 0) {
      piece = { removed: [], added: [], same: [] };
      pieces.push(piece);
    }
    piece[kind].push(line);
  }
  return pieces;
}

/** Within each change, put removed lines before added ones. */
function removedFirst(lines: readonly DiffLine[]): DiffLine[] {
  return piecesOf(lines).flatMap(({ removed, added, same }) => [
    ...mark("removed", removed),
    ...mark("added", added),
    ...mark("same", same),
  ]);
}

/** One row of two columns: a text and what stands beside it, null where it has no partner. */
export interface DiffRow {
  readonly before: string | null;
  readonly after: string | null;
  readonly isSame: boolean;
}

/** Return a difference as rows side by side; the nth removed line stands beside the nth added. */
export function sideBySide(lines: readonly DiffLine[]): readonly DiffRow[] {
  return piecesOf(lines).flatMap(({ removed, added, same }): DiffRow[] => {
    const longer = removed.length > added.length ? removed : added;
    const changed = longer.map((_, n) => [removed[n] ?? null, added[n] ?? null] as const);
    return [
      ...changed.map(([before, after]) => ({ before, after, isSame: false })),
      ...same.map((line) => ({ before: line, after: line, isSame: true })),
    ];
  });
}
