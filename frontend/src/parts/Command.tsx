import { useState } from "preact/hooks";

/** Copy a text; browsers without a clipboard for this page get the older way. */
export async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text);
  }
}

function copyBySelection(text: string): boolean {
  const area = document.createElement("textarea");
  area.value = text;
  document.body.append(area);
  area.select();
  const isCopied = document.execCommand("copy");
  area.remove();
  return isCopied;
}

/** A command with a button that copies it. */
export function Command({ text }: { readonly text: string }) {
  const [answer, setAnswer] = useState("");
  const press = async () => {
    setAnswer((await copy(text)) ? "Copied" : "Select the text to copy it");
    setTimeout(() => setAnswer(""), 2000);
  };
  return (
    <span class="command">
      <code>{text}</code>
      <button type="button" class="small" onClick={press} aria-label={`Copy: ${text}`}>
        Copy
      </button>
      <span role="status" class="answer">
        {answer}
      </span>
    </span>
  );
}
