import type { CodeText } from "../data/documents";
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
  const isSideBySide = query.get("view") === "side";
  if (!shown) return null;
  return (
    <>
      <div class="filters">
        <Choice
          title="Text"
          codes={codes}
          chosen={shown.id}
          choose={(id) => router.go({ text: id })}
        />
        {codes.length > 1 ? (
          <Choice
            title="Compare with"
            none="nothing"
            codes={codes.filter((each) => each !== shown)}
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
      {other ? (
        <>
          <p class="quiet">
            From {title(shown)} to {title(other)}:
          </p>
          <Difference before={shown.lines} after={other.lines} isSideBySide={isSideBySide} />
        </>
      ) : (
        <CodeView lines={shown.lines} />
      )}
    </>
  );
}

interface ChoiceProps {
  readonly title: string;
  readonly codes: readonly CodeText[];
  readonly chosen: string;
  readonly choose: (id: string) => void;
  readonly none?: string;
}

function Choice({ title: heading, codes, chosen, choose, none }: ChoiceProps) {
  return (
    <label>
      {heading}
      <select value={chosen} onChange={(event) => choose(event.currentTarget.value)}>
        {none ? <option value="">{none}</option> : null}
        {codes.map((each) => (
          <option key={each.id} value={each.id}>
            {title(each)}
          </option>
        ))}
      </select>
    </label>
  );
}

/** Return the text of an id; the address may name one that is gone. */
export function codeById(codes: readonly CodeText[], id: string | null): CodeText | undefined {
  return codes.find((each) => each.id === id);
}

function title({ label, partitions }: CodeText): string {
  return partitions ? `${label} (${partitions})` : label;
}
