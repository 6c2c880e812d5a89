import { useMemo, useRef, useState } from "preact/hooks";
import type { CodeText, ModelRow, PartitionsDocument, ProjectDocument } from "../data/documents";
import { blocksOf, type Interval } from "../grid/blocks";
import { gridOf, keyOf } from "../grid/grid";
import { counted } from "../parts/numbers";
import { usePrinting } from "../shell/printing";
import { BlockView, showBlock } from "./BlockView";
import "./calendar.css";
import { useToken } from "../parts/canvas";
import { type Colouring, colouring, type Way, waysOf } from "./colouring";
import { KeyboardGrid } from "./KeyboardGrid";
import { Legend } from "./Legend";
import { mappedIntervals } from "./mapped";
import { chosen, type Marking, type Pointed, point, press, startAt } from "./marking";
import { PartitionPanel } from "./PartitionPanel";
import { indexAt, joined } from "./ranges";
import { sentenceOf } from "./sentence";
import { MEDIUM, NARROW, SMALL, Zoom } from "./Zoom";

export interface CalendarProps {
  readonly model: ModelRow;
  readonly partitions: PartitionsDocument;
  readonly project: ProjectDocument;
  readonly codes: readonly CodeText[];
}

const MOST_BLOCKS = 1500;
const MOST_PRINTED = 60;

/** All partitions of a model as squares: coloured, walked by keys, marked, opened in a panel. */
export function Calendar(props: CalendarProps) {
  const { model, partitions, project, codes } = props;
  const [way, setWay] = useState<Way>("state");
  const [square, setSquare] = useState<number>(innerWidth < NARROW ? SMALL : MEDIUM);
  const [marked, setMarking] = useState<Marking | null>(null);
  const coloured = { document: partitions, project, codes };
  const colours = useMemo(() => colouring(coloured, way), [partitions, project, codes, way]);
  const intervals = useMemo(() => joined(partitions.ranges), [partitions]);
  const keys = useRef<HTMLDivElement>(null);
  const last = intervals.at(-1)?.high;
  if (last === undefined) return <p>This model has no partitions yet.</p>;

  const marking =
    marked !== null && indexAt(partitions.ranges, marked.cursor) >= 0 ? marked : startAt(last);
  const close = () => {
    setMarking({ ...marking, opened: null });
    keys.current?.focus();
  };
  return (
    <section class="calendar" aria-label={`Calendar of ${model.name}`}>
      <Legend colours={colours} ways={waysOf(coloured)} way={way} onWay={setWay}>
        <Zoom square={square} onSquare={setSquare} />
      </Legend>
      <p class="calendar-sentence" aria-live="polite">
        {sentenceOf(partitions, project, marking.hovered ?? marking.cursor)}
      </p>
      <Sheet {...props} {...{ intervals, colours, square, marking, setMarking, keys }} />
      {marking.opened && <PartitionPanel {...props} {...marking.opened} onClose={close} />}
    </section>
  );
}

interface SheetProps extends CalendarProps {
  readonly intervals: readonly Interval[];
  readonly colours: Colouring;
  readonly square: number;
  readonly marking: Marking;
  readonly setMarking: (marking: Marking) => void;
  readonly keys: { current: HTMLDivElement | null };
}

function Sheet(props: SheetProps) {
  const { model, partitions, intervals, colours, square, marking, setMarking, keys } = props;
  const grid = useMemo(() => gridOf(partitions), [partitions]);
  const blocks = useMemo(() => blocksOf(grid, intervals, MOST_BLOCKS), [grid, intervals]);
  const token = useToken();
  const root = useRef<HTMLDivElement>(null);
  const onKeyDown = (event: KeyboardEvent) => {
    const after = press(marking, event, grid, intervals);
    if (after === null) return;
    event.preventDefault();
    setMarking(after);
    if (root.current) showBlock(root.current, grid, after.cursor);
  };
  const onPointer = (pointed: Pointed) => {
    const exists = pointed.at !== null && indexAt(partitions.ranges, pointed.at) >= 0;
    setMarking(point(marking, exists ? pointed : { ...pointed, at: null }));
    if (exists && pointed.kind === "down") keys.current?.focus({ preventScroll: true });
  };
  const isForced = usePrinting() && blocks.length <= MOST_PRINTED;
  const marks = marksOf(partitions, marking);
  const drawing = { grid, colours, token, marks };
  return (
    <div class="calendar-sheet" ref={root}>
      <div class="calendar-blocks" aria-hidden="true">
        {blocks.map((block) => (
          <BlockView key={block.first} {...{ drawing, block, square, isForced, onPointer }} />
        ))}
      </div>
      <KeyboardGrid
        own={keys}
        label={`${counted(model.partitions, "partition")} of ${model.name}`}
        name={keyOf(grid, marking.cursor)}
        isMarked={marking.anchor !== marking.cursor}
        onKeyDown={onKeyDown}
      />
      {blocks.length === MOST_BLOCKS && <p>Only the last {MOST_BLOCKS} parts are shown.</p>}
    </div>
  );
}

/** A model that reads its own earlier partitions has those outlined that the chosen ones read. */
function marksOf(partitions: PartitionsDocument, marking: Marking) {
  const own = partitions.mappings.find(({ node }) => node === partitions.name);
  const { low, high } = chosen(marking);
  return {
    cursor: marking.cursor,
    marked: low === high ? [] : [{ low, high }],
    outlined: own === undefined ? [] : mappedIntervals(own, low, high),
  };
}
