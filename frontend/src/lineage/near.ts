/** Hints for names that match nothing, the same ones as on the command line. */

const ENOUGH = 0.6;
const MOST = 8;

/** Return the known name most similar to a wrong one, "" if none is similar. */
export function nearest(name: string, candidates: Iterable<string>): string {
  const wanted = name.toLowerCase();
  let best = { ratio: ENOUGH, folded: "", found: "" };
  for (const found of [...candidates].sort()) {
    const folded = found.toLowerCase();
    const ratio = similarity(folded, wanted);
    if (ratio > best.ratio || (ratio === best.ratio && folded >= best.folded)) {
      best = { ratio, folded, found };
    }
  }
  return best.found;
}

/** Return the share of letters that two texts have in common: longest run first, then beside it. */
export function similarity(a: string, b: string): number {
  const length = a.length + b.length;
  return length === 0 ? 1 : (2 * commonLetters(a, b)) / length;
}

function commonLetters(a: string, b: string): number {
  let size = 0;
  let atA = 0;
  let atB = 0;
  let before = new Array<number>(b.length + 1).fill(0);
  for (let i = 0; i < a.length; i += 1) {
    const now = new Array<number>(b.length + 1).fill(0);
    for (let j = 0; j < b.length; j += 1) {
      if (a[i] !== b[j]) continue;
      const run = (before[j] ?? 0) + 1;
      now[j + 1] = run;
      if (run > size) [size, atA, atB] = [run, i - run + 1, j - run + 1];
    }
    before = now;
  }
  if (size === 0) return 0;
  const left = commonLetters(a.slice(0, atA), b.slice(0, atB));
  return left + size + commonLetters(a.slice(atA + size), b.slice(atB + size));
}

/** Return "did you mean 'x'?", "" if nothing is similar. */
export function didYouMean(name: string, candidates: Iterable<string>): string {
  const found = nearest(name, candidates);
  return found === "" ? "" : `did you mean ${quoted(found)}?`;
}

/** Return at most eight names in order, and the number of others. */
export function someOf(names: Iterable<string>): string {
  const sorted = [...new Set(names)].sort();
  const rest = sorted.length - MOST;
  const text = sorted.slice(0, MOST).join(", ");
  return rest > 0 ? `${text} and ${rest} more` : text;
}

/** Return a text in the quotes that messages use. */
export function quoted(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  return quote + text.replaceAll("\\", "\\\\").replaceAll("'", quote === "'" ? "\\'" : "'") + quote;
}
