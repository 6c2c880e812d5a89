import { useState } from "preact/hooks";
import type { Go } from "../shell/router";
import { NEW, type Picture, type Settings, writeList } from "./settings";

type ToolbarProps = { readonly settings: Settings; readonly go: Go };

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
    go({ ...NEW, select: text.trim() || null });
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
          onInput={(event) => setText(event.currentTarget.value)}
        />
      </label>
      <button type="submit">Show</button>
      {settings.select !== "" && <Depth settings={settings} go={go} />}
      <Pictures settings={settings} go={go} />
    </form>
  );
}

function Depth({ settings, go }: ToolbarProps) {
  return (
    <label>
      Hops around{" "}
      <input
        type="number"
        min="0"
        max="99"
        value={settings.depth}
        onChange={(event) => go({ depth: event.currentTarget.value })}
      />
    </label>
  );
}

function Pictures({ settings: { picture, opened }, go }: ToolbarProps) {
  return (
    <>
      {PICTURES.map(([each, label]) => (
        <button
          key={each}
          type="button"
          aria-pressed={each === picture}
          onClick={() => go({ view: each })}
        >
          {label}
        </button>
      ))}
      {picture === "schemas" &&
        opened.map((group) => (
          <button
            key={group}
            type="button"
            onClick={() => go({ open: writeList(opened.filter((each) => each !== group)) })}
          >
            Close {group}
          </button>
        ))}
    </>
  );
}
