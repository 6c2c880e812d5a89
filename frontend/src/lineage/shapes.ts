/** The outline of each kind of node. */

const SLANT = 8;

/** Return the corners around a node's middle, x and y by turns; unknown kinds are rectangles. */
export function cornersOf(kind: string, width: number, height: number): readonly number[] {
  const [w, h] = [width / 2, height / 2];
  const inner = w - (w > SLANT ? SLANT : 0);
  const right = [w, -h / 2, w, h / 2];
  const left = [-w, h / 2, -w, -h / 2];
  const shapes: Readonly<Record<string, readonly number[]>> = {
    source: [-inner, -h, w, -h, inner, h, -w, h],
    seed: [-w, -h, inner, -h, w, h, -inner, h],
    entity: [-inner, -h, inner, -h, w, 0, inner, h, -inner, h, -w, 0],
    sessions: [-inner, -h, inner, -h, ...right, inner, h, -inner, h, ...left],
    versioned: [-w, -h, inner, -h, w, -h / 2, w, h, -w, h],
  };
  return shapes[kind] ?? [-w, -h, w, -h, w, h, -w, h];
}
