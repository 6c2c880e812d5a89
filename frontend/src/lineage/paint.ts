/** Draw a scene on a canvas. */

import { stateLook } from "../parts/states";
import { pointsOf, type Scene, type SceneNode } from "./scene";
import { cornersOf } from "./shapes";
import { nodesInSight, type Size, type View } from "./view";

const LEAST_TEXT = 0.45;
const STRIPE = 20;
const LETTERS = 40;

/** `token` reads a CSS variable of the theme. */
export interface Painting {
  readonly scene: Scene;
  readonly view: View;
  readonly screen: Size;
  readonly token: (name: string) => string;
  /** The node in the panel. */
  readonly chosen: string | null;
  /** Nodes that stand out; null if all do. */
  readonly lit: ReadonlySet<string> | null;
  readonly hasLines: boolean;
}

/** Draw lines, nodes in sight, and their names where they can be read. */
export function paint(context: CanvasRenderingContext2D, painting: Painting): void {
  const { screen, view } = painting;
  context.save();
  context.clearRect(0, 0, screen.width, screen.height);
  context.translate(view.x, view.y);
  context.scale(view.scale, view.scale);
  if (painting.hasLines) paintEdges(context, painting);
  for (const node of nodesInSight(painting.scene, view, screen)) paintNode(context, painting, node);
  context.restore();
}

/** More lines than this take too long to draw while a graph moves. */
export const MANY_LINES = 1000;

function paintEdges(context: CanvasRenderingContext2D, painting: Painting) {
  const { scene, view, lit, chosen, token } = painting;
  const ids = scene.nodes.map(({ id }) => id);
  const standsOut = (from: string, to: string) =>
    lit === null ? from === chosen || to === chosen : lit.has(from) && lit.has(to);
  context.lineWidth = 1 / Math.min(1, view.scale);
  const isDense = scene.edges.length > MANY_LINES;
  for (const isOut of [false, true]) {
    context.strokeStyle = token(isOut ? "--ink" : "--strong-line");
    context.globalAlpha = isOut ? 1 : isDense ? 0.15 : lit === null ? 0.7 : 0.25;
    context.beginPath();
    for (const edge of scene.edges) {
      const isSeen = standsOut(ids[edge.from] ?? "", ids[edge.to] ?? "") === isOut;
      if (isSeen) line(context, pointsOf(scene, edge));
    }
    context.stroke();
  }
  context.globalAlpha = 1;
}

function line(context: CanvasRenderingContext2D, points: readonly number[]) {
  context.moveTo(points[0] ?? 0, points[1] ?? 0);
  for (let at = 2; at < points.length; at += 2) {
    context.lineTo(points[at] ?? 0, points[at + 1] ?? 0);
  }
}

function paintNode(context: CanvasRenderingContext2D, painting: Painting, node: SceneNode) {
  const { view, lit, chosen, token } = painting;
  const { x, y, width, height, state } = node;
  const { sign, colour } = stateLook(state);
  const own = token(state === "" ? "--strong-line" : colour);
  context.globalAlpha = lit === null || lit.has(node.id) ? 1 : 0.3;
  if (width <= STRIPE) {
    context.fillStyle = own;
    context.fillRect(x - width / 2, y - height / 2, width, height);
    if (node.id === chosen) context.strokeRect(x - width, y - height, width * 2, height * 2);
    return;
  }
  outline(context, node);
  context.fillStyle = token("--panel");
  context.fill();
  context.save();
  context.clip();
  context.fillStyle = own;
  context.fillRect(x - width / 2, y - height / 2, STRIPE, height);
  context.restore();
  context.strokeStyle = node.id === chosen ? token("--ink") : own;
  context.lineWidth = node.id === chosen ? 3 : 1.25;
  context.stroke();
  if (view.scale >= LEAST_TEXT) paintText(context, painting, node, state === "" ? "" : sign);
}

function paintText(
  context: CanvasRenderingContext2D,
  { token }: Painting,
  { x, y, width, label }: SceneNode,
  sign: string,
) {
  context.textBaseline = "middle";
  context.font = "12px system-ui, sans-serif";
  context.fillStyle = token("--on-state");
  context.textAlign = "center";
  context.fillText(sign, x - width / 2 + STRIPE / 2 + 1, y + 0.5);
  context.fillStyle = token("--ink");
  context.textAlign = "left";
  context.fillText(shortened(label), x - width / 2 + STRIPE + 6, y + 0.5, width - STRIPE - 12);
}

/** Return a long name with its beginning and end. */
export function shortened(label: string): string {
  if (label.length <= LETTERS) return label;
  return `${label.slice(0, LETTERS / 2 - 1)}…${label.slice(-LETTERS / 2)}`;
}

function outline(context: CanvasRenderingContext2D, { kind, x, y, width, height }: SceneNode) {
  context.beginPath();
  if (kind === "python") {
    context.roundRect(x - width / 2, y - height / 2, width, height, height / 2);
    return;
  }
  const corners = cornersOf(kind, width, height);
  for (let at = 0; at < corners.length; at += 2) {
    context.lineTo(x + (corners[at] ?? 0), y + (corners[at + 1] ?? 0));
  }
  context.closePath();
}

/** Draw the small map: all nodes as points, and what is in sight as a frame. */
export function paintMap(context: CanvasRenderingContext2D, painting: Painting, map: Size): void {
  const { scene, view, screen, token } = painting;
  const scale = mapScale(scene, map);
  context.clearRect(0, 0, map.width, map.height);
  for (const { x, y, width, height, state } of scene.nodes) {
    context.fillStyle = token(state === "" ? "--strong-line" : stateLook(state).colour);
    const size = [Math.max(1, width * scale), Math.max(1, height * scale)] as const;
    context.fillRect((x - width / 2) * scale, (y - height / 2) * scale, ...size);
  }
  context.strokeStyle = token("--ink");
  context.lineWidth = 1;
  const by = scale / view.scale;
  context.strokeRect(-view.x * by, -view.y * by, screen.width * by, screen.height * by);
}

/** Return how much smaller the small map is than the scene. */
export function mapScale(scene: Size, map: Size): number {
  return Math.min(map.width / Math.max(1, scene.width), map.height / Math.max(1, scene.height));
}
