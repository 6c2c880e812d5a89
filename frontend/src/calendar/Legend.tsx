import type { ComponentChildren } from "preact";
import { number } from "../parts/numbers";
import type { Colouring, Way } from "./colouring";

const NAMES: Readonly<Record<Way, string>> = {
  state: "state",
  version: "version",
  code: "code",
  age: "age",
  rows: "rows of its step",
  bytes: "size of its step",
  seconds: "seconds of its step",
};

interface LegendProps {
  readonly colours: Colouring;
  readonly ways: readonly Way[];
  readonly way: Way;
  readonly onWay: (way: Way) => void;
  readonly children: ComponentChildren;
}

/** What the colours mean, with counts, and the choice of another way to colour. */
export function Legend({ colours, ways, way, onWay, children }: LegendProps) {
  return (
    <div class="calendar-legend">
      <label class="calendar-way">
        Colour by{" "}
        <select
          value={way}
          onChange={(event) => onWay((event.target as HTMLSelectElement).value as Way)}
        >
          {ways.map((each) => (
            <option key={each} value={each}>
              {NAMES[each]}
            </option>
          ))}
        </select>
      </label>
      {children}
      <ul aria-label="Legend">
        {colours.entries.map(({ label, colour, sign, count }) => (
          <li key={label}>
            <span
              class="calendar-swatch"
              style={{ background: `var(${colour})` }}
              aria-hidden="true"
            >
              {sign}
            </span>{" "}
            {label} <span class="calendar-count">{number(count)}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}
