import { useMemo, useRef, useState } from "preact/hooks";
import type { CodeText, ModelRow, PartitionsDocument, ProjectDocument } from "../data/documents";
import { blocksOf, type Direction, type Interval, moved } from "../grid/blocks";
import { gridOf, keyOf } from "../grid/grid";
import { counted } from "../parts/numbers";
import { BlockView, showBlock } from "./BlockView";
import { colouring, type Way, waysOf } from "./colouring";
import "./calendar.css";
import { Legend } from "./Legend";
import { mappedIntervals } from "./mapped";
import { PartitionPanel } from "./PartitionPanel";
import { indexAt, intervalsOf } from "./ranges";
import { sentenceOf } from "./sentence";
import { cssColour, useThemeChanges } from "./theme";

export interface CalendarProps {
  readonly model: ModelRow;
  readonly partitions: PartitionsDocument;
  readonly project: ProjectDocument;
  readonly codes: readonly CodeText[];
}

const SQUARES = [5, 8, 12, 18];
const MOST_BLOCKS = 1500;
const NARROW = 720;

const KEYS: Readonly<Record<string, Direction>> = {
  ArrowLeft: "left",
  ArrowRight: "right",
  ArrowUp: "up",
  ArrowDown: "down",
  Home: "block-start",
  End: "block-end",
  PageUp: "block-up",
  PageDown: "block-down",
  "Control+Home": "first",
  "Control+End": "last",
};

/** All partitions of a model as squares: coloured, walked by keys, marked, opened in a panel. */
export function Calendar({ model, partitions, project, codes }: CalendarProps) {
  const grid = useMemo(() => gridOf(partitions), [partitions]);
  const [way, setWay] = useState<Way>("state");
  const [square, setSquare] = useState(innerWidth < NARROW ? 5 : 12);
  const intervals = useMemo(() => intervalsOf(partitions.ranges), [partitions]);
  const blocks = useMemo(() => blocksOf(grid, intervals, MOST_BLOCKS), [grid, intervals]);
  const coloured = { document: partitions, project, codes };
  const colours = useMemo(() => colouring(coloured, way), [partitions, project, codes, way]);
  const palette = usePalette(colours);
  const marking = useMarking(grid, intervals, partitions);
  const root = useRef<HTMLDivElement>(null);
  const keys = useRef<HTMLDivElement>(null);
  if (intervals.length === 0) return <p>This model has no partitions yet.</p>;

  const outlined = ownInputs(partitions, marking.marked ?? marking.opened);
  const drawing = {
    grid,
    ranges: partitions.ranges,
    colours,
    palette,
    marks: { cursor: marking.cursor, marked: marking.marked, outlined },
  };
  const shown = marking.hovered ?? marking.cursor;
  const press = (event: KeyboardEvent) => {
    const to = marking.press(event);
    if (to !== null && root.current) showBlock(root.current, grid, to);
  };
  const close = () => {
    marking.close();
    keys.current?.focus();
  };
  return (
    <section class="calendar" aria-label={`Calendar of ${model.name}`}>
      <Legend colours={colours} ways={waysOf(coloured)} way={way} onWay={setWay}>
        <Zoom square={square} onSquare={setSquare} />
      </Legend>
      <p class="calendar-sentence" aria-live="polite">
        {sentenceOf(partitions, project, shown)}
      </p>
      <div class="calendar-sheet" ref={root}>
        <div class="calendar-blocks" aria-hidden="true">
          {blocks.map((block) => (
            <BlockView
              key={block.first}
              drawing={drawing}
              block={block}
              square={square}
              onPointer={(kind, at, flag) => {
                if (marking.point(kind, at, flag)) keys.current?.focus({ preventScroll: true });
              }}
            />
          ))}
        </div>
        <KeyboardGrid
          own={keys}
          label={`${counted(model.partitions, "partition")} of ${model.name}`}
          name={keyOf(grid, marking.cursor)}
          isMarked={marking.marked !== null}
          onKeyDown={press}
        />
      </div>
      {blocks.length === MOST_BLOCKS && <p>Only the last {MOST_BLOCKS} parts are shown.</p>}
      {marking.opened && (
        <PartitionPanel
          model={model}
          partitions={partitions}
          project={project}
          codes={codes}
          low={marking.opened.low}
          high={marking.opened.high}
          onClose={close}
        />
      )}
    </section>
  );
}

function usePalette(colours: ReturnType<typeof colouring>) {
  const changes = useThemeChanges();
  return useMemo(
    () => ({
      entries: colours.entries.map(({ colour }) => cssColour(colour)),
      onState: cssColour("--on-state"),
      ink: cssColour("--ink"),
      quiet: cssColour("--quiet"),
    }),
    [colours, changes],
  );
}

/** A model that reads its own earlier partitions shows which ones. */
function ownInputs(partitions: PartitionsDocument, chosen: Interval | null): Interval[] {
  const own = partitions.mappings.find(({ node }) => node === partitions.name);
  if (own === undefined || chosen === null) return [];
  return mappedIntervals(own, chosen.low, chosen.high);
}

type Grid = ReturnType<typeof gridOf>;

/** Where the cursor is, what is marked and what is open. */
function useMarking(grid: Grid, intervals: readonly Interval[], partitions: PartitionsDocument) {
  const [at, setCursor] = useState<number | null>(null);
  const [anchor, setAnchor] = useState<number | null>(null);
  const [hovered, setHovered] = useState<number | null>(null);
  const [opened, setOpened] = useState<Interval | null>(null);
  const dragged = useRef(false);
  const last = intervals.at(-1)?.high ?? 0;
  const cursor = at !== null && indexAt(partitions.ranges, at) >= 0 ? at : last;
  const from = anchor ?? cursor;
  const chosen = { low: Math.min(from, cursor), high: Math.max(from, cursor) };
  const move = (to: number, isMarking: boolean) => {
    setAnchor(isMarking ? from : null);
    setCursor(to);
  };
  const press = (event: KeyboardEvent): number | null => {
    const control = event.ctrlKey || event.metaKey;
    const direction = KEYS[(control ? "Control+" : "") + event.key];
    if (direction !== undefined) {
      event.preventDefault();
      const to = moved(grid, intervals, cursor, direction);
      move(to, event.shiftKey);
      return to;
    }
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      setOpened(chosen);
    }
    if (event.key === "Escape") setAnchor(null);
    return null;
  };
  /** Return whether the pointer took hold of a partition. */
  const point = (kind: "down" | "move" | "up" | "leave", to: number | null, flag: boolean) => {
    const exists = to !== null && indexAt(partitions.ranges, to) >= 0;
    if (kind === "leave" || !exists) setHovered(null);
    if (!exists) return false;
    setHovered(to);
    if (kind === "down") {
      dragged.current = true;
      move(to, flag);
    }
    if (kind === "move" && flag && dragged.current && to !== cursor) move(to, true);
    if (kind === "up" && dragged.current) {
      dragged.current = false;
      setOpened({ low: Math.min(from, to), high: Math.max(from, to) });
    }
    return kind === "down";
  };
  const marked = anchor === null || anchor === cursor ? null : chosen;
  return { cursor, hovered, marked, opened, press, point, close: () => setOpened(null) };
}

interface KeyboardGridProps {
  readonly own: { current: HTMLDivElement | null };
  readonly label: string;
  readonly name: string;
  readonly isMarked: boolean;
  readonly onKeyDown: (event: KeyboardEvent) => void;
}

/** The calendar as screen readers know it: a grid that has only the cell at the cursor. */
function KeyboardGrid({ own, label, name, isMarked, onKeyDown }: KeyboardGridProps) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: a table of a million cells would freeze the page
    <div
      ref={own}
      class="calendar-keys"
      role="grid"
      tabIndex={0}
      aria-label={`${label}: arrow keys move, Shift marks, Enter opens`}
      aria-activedescendant="calendar-cell"
      aria-multiselectable="true"
      onKeyDown={onKeyDown}
    >
      <div role="row">
        <div id="calendar-cell" role="gridcell" aria-selected={isMarked}>
          {name}
        </div>
      </div>
    </div>
  );
}

function Zoom({ square, onSquare }: { square: number; onSquare: (square: number) => void }) {
  const at = SQUARES.indexOf(square);
  const button = (label: string, to: number | undefined, sign: string) => (
    <button
      type="button"
      aria-label={label}
      disabled={to === undefined}
      onClick={() => to !== undefined && onSquare(to)}
    >
      {sign}
    </button>
  );
  return (
    <span class="calendar-zoom">
      {button("Smaller squares", SQUARES[at - 1], "−")}
      {button("Larger squares", SQUARES[at + 1], "+")}
    </span>
  );
}
