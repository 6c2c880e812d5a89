import { useState } from "preact/hooks";
import type { Picture, Settings } from "./settings";
import { writeList } from "./settings";

interface ToolbarProps {
  readonly settings: Settings;
  readonly go: (changes: Record<string, string | null>) => void;
}

const PICTURES: readonly (readonly [Picture, string])[] = [
  ["graph", "Graph"],
  ["schemas", "By schema"],
  ["dots", "All as dots"],
];

/** The selection, how many hops around it, and the kind of picture. */
export function Toolbar({ settings, go }: ToolbarProps) {
  const [text, setText] = useState(settings.select);
  const submit = (event: Event) => {
    event.preventDefault();
    go({
      select: text.trim() || null,
      depth: null,
      grow: null,
      node: null,
      column: null,
      view: null,
    });
  };
  return (
    <form class="lineage-tools" onSubmit={submit}>
      <label>
        Select{" "}
        <input
          type="text"
          size={30}
          value={text}
          placeholder="+marts.revenue tag:daily"
          spellcheck={false}
          onInput={(event) => setText((event.target as HTMLInputElement).value)}
        />
      </label>
      <button type="submit">Show</button>
      {settings.select !== "" && (
        <label>
          Hops around{" "}
          <input
            type="number"
            min="0"
            max="99"
            value={settings.depth}
            onChange={(event) => go({ depth: (event.target as HTMLInputElement).value })}
          />
        </label>
      )}
      <span>
        {PICTURES.map(([picture, label]) => (
          <button
            key={picture}
            type="button"
            aria-pressed={picture === settings.picture}
            onClick={() => go({ view: picture })}
          >
            {label}
          </button>
        ))}
      </span>
      {settings.picture === "schemas" &&
        settings.opened.map((group) => (
          <button
            key={group}
            type="button"
            onClick={() =>
              go({ open: writeList(settings.opened.filter((each) => each !== group)) })
            }
          >
            Close {group}
          </button>
        ))}
    </form>
  );
}
