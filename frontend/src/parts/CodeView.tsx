import { useMemo } from "preact/hooks";
import { type DiffLine, lineDiff, sideBySide } from "./diff";
import "./code.css";
import { CodeLine } from "./Html";

/** A text with its line numbers. */
export function CodeView({ lines }: { readonly lines: readonly string[] }) {
  return (
    <div class="code">
      <ol>
        {lines.map((line, n) => (
          <li key={n}>
            <CodeLine html={line} />
          </li>
        ))}
      </ol>
    </div>
  );
}

interface DifferenceProps {
  readonly before: readonly string[];
  readonly after: readonly string[];
  readonly isSideBySide: boolean;
}

/** What differs between two texts; removed and added lines have signs beside their colours. */
export function Difference({ before, after, isSideBySide }: DifferenceProps) {
  const lines = useMemo(() => lineDiff(before, after), [before, after]);
  if (lines.every((each) => each.kind === "same")) return <p>Both texts are the same.</p>;
  return isSideBySide ? <TwoColumns lines={lines} /> : <InLine lines={lines} />;
}

const SIGNS = { same: " ", removed: "−", added: "+" };
const WORDS = { same: "", removed: "removed: ", added: "added: " };

function InLine({ lines }: { readonly lines: readonly DiffLine[] }) {
  return (
    <div class="code difference">
      {lines.map(({ kind, line }, n) => (
        <div key={n} class={kind}>
          <span class="diff-sign" aria-hidden="true">
            {SIGNS[kind]}
          </span>
          <span class="hidden">{WORDS[kind]}</span>
          <CodeLine html={line} />
        </div>
      ))}
    </div>
  );
}

function TwoColumns({ lines }: { readonly lines: readonly DiffLine[] }) {
  return (
    <table class="code difference two">
      <thead>
        <tr>
          <th scope="col">Before</th>
          <th scope="col">After</th>
        </tr>
      </thead>
      <tbody>
        {sideBySide(lines).map(({ before, after, isSame }, n) => (
          <tr key={n}>
            <Side line={before} kind={isSame ? "same" : "removed"} />
            <Side line={after} kind={isSame ? "same" : "added"} />
          </tr>
        ))}
      </tbody>
    </table>
  );
}

interface SideProps {
  readonly line: string | null;
  readonly kind: DiffLine["kind"];
}

function Side({ line, kind }: SideProps) {
  if (line === null) return <td class="none" />;
  return (
    <td class={kind}>
      <span class="diff-sign" aria-hidden="true">
        {SIGNS[kind]}
      </span>
      <CodeLine html={line} />
    </td>
  );
}
