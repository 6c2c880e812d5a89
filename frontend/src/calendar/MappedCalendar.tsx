import { useMemo } from "preact/hooks";
import type { PartitionsDocument, ProjectDocument } from "../data/documents";
import { blocksOf, type Interval } from "../grid/blocks";
import { gridOf } from "../grid/grid";
import { useToken } from "../parts/canvas";
import { BlockView } from "./BlockView";
import { colouring } from "./colouring";
import { LITTLE, NARROW, SMALL } from "./Zoom";

interface MappedCalendarProps {
  readonly document: PartitionsDocument;
  readonly project: ProjectDocument;
  readonly intervals: readonly Interval[];
}

const MOST_BLOCKS = 3;

/** The part of a neighbour's calendar in which marked partitions map to those outlined here. */
export function MappedCalendar({ document, project, intervals }: MappedCalendarProps) {
  const grid = gridOf(document);
  const square = innerWidth < NARROW ? SMALL : LITTLE;
  const colours = useMemo(
    () => colouring({ document, project, codes: [] }, "state"),
    [document, project],
  );
  const marks = { cursor: null, marked: intervals, outlined: [] };
  const drawing = { grid, colours, token: useToken(), marks };
  return (
    <div class="calendar-sheet" aria-hidden="true">
      <div class="calendar-blocks">
        {blocksOf(grid, intervals, MOST_BLOCKS).map((block) => (
          <BlockView key={block.first} {...{ drawing, block, square }} />
        ))}
      </div>
    </div>
  );
}
