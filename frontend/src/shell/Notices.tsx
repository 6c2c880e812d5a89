import type { Notice } from "../data/documents";
import { useMore } from "../parts/More";
import { counted } from "../parts/numbers";

/** What is wrong with the whole project, errors first. */
export function Notices({ notices }: { readonly notices: readonly Notice[] }) {
  const sorted = [...notices].sort((a, b) => Number(b.is_error) - Number(a.is_error));
  const [shown, more] = useMore(sorted, 5);
  if (notices.length === 0) return null;
  return (
    <section class="notices" aria-label="Findings">
      <h2>{noticesTitle(notices)}</h2>
      <ul>
        {shown.map(({ code, place, sentence, hint, is_error }) => (
          <li key={`${code} ${place} ${sentence}`}>
            <strong>{is_error ? "error" : "warning"}</strong> {place ? <code>{place}</code> : null}{" "}
            {code}: {sentence}
            {hint ? <div class="quiet">{hint}</div> : null}
          </li>
        ))}
      </ul>
      {more}
    </section>
  );
}

/** Return how many errors and warnings there are: "2 errors, 1 warning". */
export function noticesTitle(notices: readonly Notice[]): string {
  const errors = notices.filter((each) => each.is_error).length;
  const warnings = notices.length - errors;
  const parts = [errors && counted(errors, "error"), warnings && counted(warnings, "warning")];
  return parts.filter(Boolean).join(", ");
}
