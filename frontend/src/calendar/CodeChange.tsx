import type { CodeText } from "../data/documents";
import { CodeView, Difference } from "../parts/CodeView";

interface CodeChangeProps {
  readonly before: CodeText | undefined;
  readonly after: CodeText | undefined;
  readonly isSame: boolean;
}

/** The code that built a partition beside the code that is for it now, as one difference. */
export function CodeChange({ before, after, isSame }: CodeChangeProps) {
  if (before === undefined && after === undefined) return null;
  return (
    <details open={!isSame}>
      <summary>{summaryOf(before, after, isSame)}</summary>
      {isSame ? (
        <CodeView lines={after?.lines ?? []} />
      ) : (
        <Difference before={before?.lines ?? []} after={after?.lines ?? []} isSideBySide={false} />
      )}
    </details>
  );
}

function summaryOf(before: CodeText | undefined, after: CodeText | undefined, isSame: boolean) {
  if (isSame) return `Code: built by the code that is for it now (${name(after)})`;
  if (before === undefined) return `Code that is for it now (${name(after)})`;
  if (after === undefined) return `Code that built it (${name(before)}); no code is for it now`;
  return `Code: built by ${name(before)} (−), now for it: ${name(after)} (+)`;
}

function name(code: CodeText | undefined): string {
  return code?.label || code?.id.slice(0, 8) || "not known";
}
