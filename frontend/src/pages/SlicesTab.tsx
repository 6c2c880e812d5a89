import type { SliceRow } from "../data/documents";
import { useMore } from "../parts/More";
import { number } from "../parts/numbers";
import { State } from "../parts/State";
import { stateLook } from "../parts/states";
import { Time } from "../parts/Time";
import { absolute } from "../parts/times";

/** The slices of an entity as a strip of squares, oldest first, and as a table, newest first. */
export function SlicesTab({ slices }: { readonly slices: readonly SliceRow[] }) {
  const sorted = byTime(slices);
  const [shown, more] = useMore([...sorted].reverse(), 200);
  return (
    <>
      <ol class="squares" aria-label="Slices, oldest first">
        {sorted.slice(-400).map((each) => (
          <Square key={each.name} {...each} />
        ))}
      </ol>
      <table class="plain">
        <thead>
          <tr>
            <th scope="col">Slice</th>
            <th scope="col">Result</th>
            <th scope="col">Processed</th>
            <th scope="col" class="number">
              Rows
            </th>
            <th scope="col">Why</th>
          </tr>
        </thead>
        <tbody>
          {shown.map(({ name, status, at, rows, why }) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td>
                <State name={status} />
              </td>
              <td>
                <Time at={at} />
              </td>
              <td class="number">{number(rows)}</td>
              <td>{why}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {more}
    </>
  );
}

/** Return slices in the order of their processing; those not processed yet come last. */
export function byTime(slices: readonly SliceRow[]): readonly SliceRow[] {
  const key = ({ at, name }: SliceRow) => `${at || "~"} ${name}`;
  return [...slices].sort((a, b) => (key(a) < key(b) ? -1 : 1));
}

function Square({ name, status, at, why }: SliceRow) {
  const { words, sign, colour } = stateLook(status);
  const text = [name, words, at ? absolute(at) : "", why].filter(Boolean).join(", ");
  return (
    <li title={text} style={{ background: `var(${colour})` }}>
      <span aria-hidden="true">{sign}</span>
      <span class="hidden">{text}</span>
    </li>
  );
}
