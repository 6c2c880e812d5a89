import { useState } from "preact/hooks";

/** Copy a text; browsers without a clipboard for this page get the older way. */
async function copy(text: string): Promise<boolean> {
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

interface CopyButtonProps {
  readonly label: string;
  readonly text: () => string;
  readonly children: string;
}

/** A button that copies a text, and says whether it could. */
export function CopyButton({ label, text, children }: CopyButtonProps) {
  const [answer, setAnswer] = useState("");
  const press = async () => {
    setAnswer((await copy(text())) ? "Copied" : "The browser does not allow copying");
    setTimeout(() => setAnswer(""), 2000);
  };
  return (
    <>
      <button type="button" class="small" onClick={press} aria-label={label}>
        {children}
      </button>
      <span role="status" class="answer">
        {answer}
      </span>
    </>
  );
}

/** A command with a button that copies it. */
export function Command({ text }: { readonly text: string }) {
  return (
    <span class="command">
      <code>{text}</code>
      <CopyButton label={`Copy: ${text}`} text={() => text}>
        Copy
      </CopyButton>
    </span>
  );
}
