import type { BandPoint, CheckRow, Evaluation } from "../data/documents";
import { Html } from "../parts/Html";
import { number } from "../parts/numbers";
import { type Square, Squares } from "../parts/Squares";
import { State } from "../parts/State";
import { Table } from "../parts/Table";
import { Time } from "../parts/Time";
import { absolute } from "../parts/times";
import { valueBand, valueLine } from "./checks";

/** Older evaluations are left out of the squares. */
const SQUARES = 60;

/** The checks of a model: one row a check, one square an evaluation. */
export function ChecksTab({ checks }: { readonly checks: readonly CheckRow[] }) {
  return (
    <Table heads={["Check", "Last result", "Evaluations, oldest first", "Value and limit"]}>
      {checks.map((check) => (
        <Check key={`${check.name} ${check.column}`} {...check} />
      ))}
    </Table>
  );
}

function Check(check: CheckRow) {
  const last = check.evaluations.at(-1);
  const facts = [check.type, check.phase, check.column, check.on_failure].filter(Boolean);
  return (
    <tr>
      <th scope="row">
        {check.name}
        <div class="quiet">{facts.join(", ")}</div>
        <Html html={check.description_html} />
      </th>
      <td>
        {last ? <State name={last.status} /> : <span class="quiet">not evaluated</span>}
        {last ? (
          <div class="quiet">
            <Time at={last.at} isRelative />
          </div>
        ) : null}
        {last && last.status !== "passed" ? <div>{last.sentence}</div> : null}
      </td>
      <td>
        <Squares name={`Evaluations of ${check.name}`} squares={squares(check.evaluations)} />
      </td>
      <td>
        {check.band.length ? (
          <Band name={check.name} values={check.band} />
        ) : (
          <Values evaluations={check.evaluations} />
        )}
      </td>
    </tr>
  );
}

function squares(evaluations: readonly Evaluation[]): readonly Square[] {
  return evaluations.slice(-SQUARES).map(({ at, status, step, sentence }) => ({
    id: `${at} ${step}`,
    status,
    before: absolute(at),
    after: sentence,
  }));
}

function Values({ evaluations }: Pick<CheckRow, "evaluations">) {
  const line = valueLine(evaluations);
  const last = evaluations.findLast((each) => each.value !== null);
  if (!last) return null;
  const limit = last.limit === null ? "" : `, limit ${number(last.limit)}`;
  const text = `${number(last.value)}${limit}`;
  return (
    <>
      {line ? (
        <svg class="small-line" viewBox="0 0 100 30" role="img" aria-label={`Values, last ${text}`}>
          <polyline points={line.points} />
          {line.limit === null ? null : <line x1="0" x2="100" y1={line.limit} y2={line.limit} />}
        </svg>
      ) : null}
      <div class="quiet">{text}</div>
    </>
  );
}

function Band({ name, values }: { readonly name: string; readonly values: readonly BandPoint[] }) {
  const shape = valueBand(values);
  const last = values.at(-1);
  if (!last) return null;
  const expected =
    last.low === null ? "" : `, expected ${rounded(last.low)} to ${rounded(last.high)}`;
  const text = `${number(last.value)}${expected}`;
  return (
    <>
      {shape ? (
        <svg
          class="small-line"
          viewBox="0 0 100 30"
          role="img"
          aria-label={`${name}: ${number(values.length)} values, last ${text}`}
        >
          <polygon points={shape.band} />
          <polyline points={shape.points} />
          {shape.failed.map(({ x, y, at }) => (
            <circle key={at} cx={x} cy={y} r="2.5">
              <title>{at}</title>
            </circle>
          ))}
        </svg>
      ) : null}
      <div class="quiet">{text}</div>
    </>
  );
}

function rounded(value: number | null): string {
  return number(value === null ? null : Number(value.toPrecision(4)));
}
