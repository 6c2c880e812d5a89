import { number } from "./numbers";
import { stateLook } from "./states";

/** A state or result: its sign on its colour, then its words, and how many where that is known. */
export function State({ name, count }: { readonly name: string; readonly count?: number }) {
  const { words } = stateLook(name);
  return (
    <span class="state" title={name}>
      <Sign name={name} />
      {count === undefined ? words : `${number(count)} ${words}`}
    </span>
  );
}

/** The sign of a state alone, where words stand beside it. */
export function Sign({ name }: { readonly name: string }) {
  const { sign, colour } = stateLook(name);
  return (
    <span class="sign" aria-hidden="true" style={{ background: `var(${colour})` }}>
      {sign}
    </span>
  );
}
