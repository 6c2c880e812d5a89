import type { SliceRow } from "../data/documents";
import { useMore } from "../parts/More";
import { number } from "../parts/numbers";
import { type Square, Squares } from "../parts/Squares";
import { State } from "../parts/State";
import { Table } from "../parts/Table";
import { Time } from "../parts/Time";
import { absolute } from "../parts/times";

/** Older slices are left out of the squares. */
const SQUARES = 400;

/** The slices of an entity as a strip of squares, oldest first, and as a table, newest first. */
export function SlicesTab({ slices }: { readonly slices: readonly SliceRow[] }) {
  const sorted = byTime(slices);
  const [shown, more] = useMore([...sorted].reverse(), 200);
  return (
    <>
      <Squares name="Slices, oldest first" squares={sorted.slice(-SQUARES).map(square)} />
      <Table heads={["Slice", "Result", "Processed", "Rows", "Why"]} numbers={["Rows"]}>
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
      </Table>
      {more}
    </>
  );
}

/** Return slices in the order of their processing; those not processed yet come last. */
export function byTime(slices: readonly SliceRow[]): readonly SliceRow[] {
  const key = ({ at, name }: SliceRow) => `${at || "~"} ${name}`;
  return [...slices].sort((a, b) => (key(a) < key(b) ? -1 : 1));
}

function square({ name, status, at, why }: SliceRow): Square {
  const after = [at ? absolute(at) : "", why].filter(Boolean).join(", ");
  return { id: name, status, before: name, after };
}
