import { CopyButton } from "../parts/Command";
import { token } from "../parts/canvas";
import type { Scene } from "./scene";
import { graphviz, mermaid, svg } from "./texts";

const FORMATS: readonly (readonly [string, (scene: Scene) => string])[] = [
  ["Mermaid", mermaid],
  ["Graphviz", graphviz],
  ["SVG", (scene) => svg(scene, token)],
];

/** Buttons that copy the picture for other tools. */
export function CopyAs({ scene }: { readonly scene: Scene }) {
  return (
    <span class="lineage-copy">
      Copy as{" "}
      {FORMATS.map(([format, write]) => (
        <CopyButton key={format} label={`Copy as ${format}`} text={() => write(scene)}>
          {format}
        </CopyButton>
      ))}
    </span>
  );
}
