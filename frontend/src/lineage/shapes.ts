/** The outline of each kind of node, as corners around its middle; round ends are `isRound`. */

export interface Shape {
  readonly corners: readonly (readonly [x: number, y: number])[];
  readonly isRound: boolean;
}

const SLANT = 8;

/** Return the shape of a kind: SQL is a rectangle, Python round, sources slanted, and so on. */
export function shapeOf(kind: string, width: number, height: number): Shape {
  const [w, h] = [width / 2, height / 2];
  const rectangle = { corners: around([w, h], [w, h]), isRound: false };
  if (width <= SLANT * 2) return rectangle;
  switch (kind) {
    case "python":
      return { ...rectangle, isRound: true };
    case "source":
      return { corners: slanted(w, h, SLANT), isRound: false };
    case "seed":
      return { corners: slanted(w, h, -SLANT), isRound: false };
    case "entity":
      return { corners: pointed(w, h, 0), isRound: false };
    case "sessions":
      return { corners: pointed(w, h, h / 2), isRound: false };
    case "versioned":
      return { corners: notched(w, h), isRound: false };
    default:
      return rectangle;
  }
}

type Corner = readonly [number, number];

function around([w, h]: Corner, [w2, h2]: Corner): Corner[] {
  return [
    [-w, -h],
    [w2, -h2],
    [w, h],
    [-w2, h2],
  ];
}

function slanted(w: number, h: number, by: number): Corner[] {
  const [left, right] = by > 0 ? [by, 0] : [0, -by];
  return [
    [-w + left, -h],
    [w - right, -h],
    [w - left, h],
    [-w + right, h],
  ];
}

/** A hexagon, or an octagon if its sides keep a straight part. */
function pointed(w: number, h: number, straight: number): Corner[] {
  return [
    [-w + SLANT, -h],
    [w - SLANT, -h],
    [w, -straight],
    [w, straight],
    [w - SLANT, h],
    [-w + SLANT, h],
    [-w, straight],
    [-w, -straight],
  ];
}

/** A card with one cut corner. */
function notched(w: number, h: number): Corner[] {
  return [
    [-w, -h],
    [w - SLANT, -h],
    [w, -h + SLANT],
    [w, h],
    [-w, h],
  ];
}
