/** Pan and zoom: a point of the scene times `scale` plus the offset is a point of the screen. */

import type { Scene, SceneNode } from "./scene";

export interface View {
  readonly x: number;
  readonly y: number;
  readonly scale: number;
}

export interface Size {
  readonly width: number;
  readonly height: number;
}

const MARGIN = 24;
const LEAST = 0.02;
const MOST = 4;

/** Return the view that shows a whole scene in the middle, never larger than life. */
export function fitted(scene: Size, screen: Size): View {
  const wide = (screen.width - 2 * MARGIN) / Math.max(1, scene.width);
  const high = (screen.height - 2 * MARGIN) / Math.max(1, scene.height);
  const scale = Math.max(LEAST, Math.min(1, wide, high));
  return {
    x: (screen.width - scene.width * scale) / 2,
    y: (screen.height - scene.height * scale) / 2,
    scale,
  };
}

/** Return the view with another scale; the point of the screen stays where it is. */
export function zoomed(view: View, factor: number, x: number, y: number): View {
  const scale = Math.min(MOST, Math.max(LEAST, view.scale * factor));
  const by = scale / view.scale;
  return { x: x - (x - view.x) * by, y: y - (y - view.y) * by, scale };
}

/** Return the nodes that a screen shows. */
export function nodesInSight(scene: Scene, view: View, screen: Size): SceneNode[] {
  const left = -view.x / view.scale;
  const top = -view.y / view.scale;
  const [width, height] = [screen.width / view.scale, screen.height / view.scale];
  return scene.nodes.filter((node) => touches(node, left, top, width, height));
}

function touches(node: SceneNode, left: number, top: number, width: number, height: number) {
  const { x, y, width: own, height: high } = node;
  const isBeside = x + own / 2 < left || x - own / 2 > left + width;
  return !isBeside && y + high / 2 >= top && y - high / 2 <= top + height;
}

/** Return the node under a point of the screen, within some pixels; undefined beside all. */
export function nodeUnder(
  scene: Scene,
  view: View,
  screenX: number,
  screenY: number,
): SceneNode | undefined {
  const x = (screenX - view.x) / view.scale;
  const y = (screenY - view.y) / view.scale;
  const near = 3 / view.scale;
  return scene.nodes.find((node) => touches(node, x - near, y - near, 2 * near, 2 * near));
}
