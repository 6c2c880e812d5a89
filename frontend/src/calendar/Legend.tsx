import type { ComponentChildren } from "preact";
import { Choice } from "../parts/Choice";
import { number } from "../parts/numbers";
import type { Colouring, Way } from "./colouring";

const NAMES: Record<string, string> = { bytes: "size", seconds: "seconds of its step" };

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
      <Choice
        title="Colour by "
        values={ways}
        chosen={way}
        choose={(value) => onWay(value as Way)}
        words={(value) => NAMES[value as Way] ?? value}
      />
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
