/** A scene as text for other tools. */

import { stateLook } from "../parts/states";
import { pointsOf, type Scene } from "./scene";
import { cornersOf } from "./shapes";

/** Return the scene as a Mermaid flowchart. */
export function mermaid(scene: Scene): string {
  const nodes = scene.nodes.map(({ label }, index) => `  n${index}["${mermaidText(label)}"]`);
  const edges = scene.edges.map(({ from, to }) => `  n${from} --> n${to}`);
  return `${["flowchart LR", ...nodes, ...edges].join("\n")}\n`;
}

function mermaidText(text: string): string {
  return text.replace(/[#"<>&`]/g, (sign) => `#${sign.charCodeAt(0)};`);
}

/** Return the scene as a Graphviz graph. */
export function graphviz(scene: Scene): string {
  const name = (index: number) =>
    `"${(scene.nodes[index]?.label ?? "").replace(/["\\]/g, (sign) => `\\${sign}`)}"`;
  const nodes = scene.nodes.map((_, index) => `  ${name(index)};`);
  const edges = scene.edges.map(({ from, to }) => `  ${name(from)} -> ${name(to)};`);
  return `${["digraph lineage {", "  rankdir=LR;", "  node [shape=box];", ...nodes, ...edges, "}"].join("\n")}\n`;
}

/** Return the scene as an SVG picture, in colours that are passed in. */
export function svg(scene: Scene, colours: (name: string) => string): string {
  const { width, height } = scene;
  const box = `-10 -10 ${Math.ceil(width) + 20} ${Math.ceil(height) + 20}`;
  const edges = scene.edges.map((edge) => {
    const line = pointsOf(scene, edge)
      .map((value) => Math.round(value))
      .join(" ");
    return `<polyline points="${line}" fill="none" stroke="${colours("--strong-line")}"/>`;
  });
  const nodes = scene.nodes.map(({ label, kind, state, x, y, width: w, height: h }) => {
    const corners = cornersOf(kind, w, h).map((by, at) => (at % 2 === 0 ? x : y) + by);
    const stroke = colours(state === "" ? "--strong-line" : stateLook(state).colour);
    const style = `fill="${colours("--panel")}" stroke="${stroke}" stroke-width="2"`;
    const text = `<text x="${x}" y="${y + 4}" fill="${colours("--ink")}">${xmlText(label)}</text>`;
    return `<polygon points="${corners.join(" ")}" ${style}/>${text}`;
  });
  const head = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="${box}"`;
  const font = 'font-family="sans-serif" font-size="12" text-anchor="middle"';
  return `${head} ${font}>\n${[...edges, ...nodes].join("\n")}\n</svg>\n`;
}

function xmlText(text: string): string {
  return text.replace(/[<>&"']/g, (sign) => `&#${sign.charCodeAt(0)};`);
}
