import { useState } from "preact/hooks";
import { copy } from "../parts/Command";
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
  const [answer, setAnswer] = useState("");
  const press = async (format: string, write: (scene: Scene) => string) => {
    const isCopied = await copy(write(scene));
    setAnswer(isCopied ? `Copied as ${format}` : "The browser does not allow copying");
  };
  return (
    <span class="lineage-copy">
      Copy as{" "}
      {FORMATS.map(([format, write]) => (
        <button key={format} type="button" class="small" onClick={() => press(format, write)}>
          {format}
        </button>
      ))}{" "}
      <span role="status" class="answer">
        {answer}
      </span>
    </span>
  );
}
