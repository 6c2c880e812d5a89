import type { CodeText } from "../data/documents";
import { Choice } from "../parts/Choice";
import { CodeView, Difference } from "../parts/CodeView";
import type { Router } from "../shell/router";

interface CodeTabProps {
  readonly codes: readonly CodeText[];
  readonly router: Router;
}

/** The texts of a model, one at a time or as the difference of any two. */
export function CodeTab({ codes, router }: CodeTabProps) {
  const { query } = router.route;
  const shown = codeById(codes, query.get("text")) ?? codes[0];
  const other = codeById(codes, query.get("with"));
  if (!shown) return null;
  return (
    <>
      <Choices codes={codes} router={router} shown={shown} other={other} />
      {other ? (
        <>
          <p class="quiet">
            From {title(shown)} to {title(other)}:
          </p>
          <Difference
            before={shown.lines}
            after={other.lines}
            isSideBySide={query.get("view") === "side"}
          />
        </>
      ) : (
        <CodeView lines={shown.lines} />
      )}
    </>
  );
}

interface ChoicesProps extends CodeTabProps {
  readonly shown: CodeText;
  readonly other: CodeText | undefined;
}

function Choices({ codes, router, shown, other }: ChoicesProps) {
  const isSideBySide = router.route.query.get("view") === "side";
  const ids = codes.map((each) => each.id);
  const words = (id: string) => title(codeById(codes, id));
  return (
    <div class="filters">
      <Choice
        title="Text"
        values={ids}
        words={words}
        chosen={shown.id}
        choose={(id) => router.go({ text: id })}
      />
      {codes.length > 1 ? (
        <Choice
          title="Compare with"
          none="nothing"
          values={ids.filter((id) => id !== shown.id)}
          words={words}
          chosen={other?.id ?? ""}
          choose={(id) => router.go({ with: id })}
        />
      ) : null}
      {other ? (
        <button
          type="button"
          aria-pressed={isSideBySide}
          onClick={() => router.go({ view: isSideBySide ? null : "side" })}
        >
          Side by side
        </button>
      ) : null}
    </div>
  );
}

/** Return the text of an id; the address may name one that is gone. */
function codeById(codes: readonly CodeText[], id: string | null): CodeText | undefined {
  return codes.find((each) => each.id === id);
}

function title(code: CodeText | undefined): string {
  if (!code) return "a text that is gone";
  return code.partitions ? `${code.label} (${code.partitions})` : code.label;
}
