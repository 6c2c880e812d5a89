import { stateLook } from "./states";

export interface Square {
  readonly id: string;
  readonly status: string;
  /** What stands before and after the result, such as a name and a reason. */
  readonly before: string;
  readonly after: string;
}

/** Results as one square each, with its words on hover and for screen readers. */
export function Squares({ name, squares }: { name: string; squares: readonly Square[] }) {
  return (
    <ol class="squares" aria-label={name}>
      {squares.map(({ id, status, before, after }) => {
        const { words, sign, colour } = stateLook(status);
        const text = [before, words, after].filter(Boolean).join(", ");
        return (
          <li key={id} title={text} style={{ background: `var(${colour})` }}>
            <span aria-hidden="true">{sign}</span>
            <span class="hidden">{text}</span>
          </li>
        );
      })}
    </ol>
  );
}
