import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { type Block, blockAt, type Interval } from "../grid/blocks";
import { scaledContext } from "../parts/canvas";
import { type Drawing, drawBlock, geometry, type Marks, positionUnder } from "./draw";
import type { Pointed } from "./marking";

export interface BlockProps {
  readonly drawing: Omit<Drawing, "block" | "geo">;
  readonly block: Block;
  readonly square: number;
  /** Draw it even out of sight, as for printing. */
  readonly isForced?: boolean;
  readonly onPointer?: (pointed: Pointed) => void;
}

const MARGIN = "400px";

/** One block: its label, and its squares while it is in sight. */
export function BlockView({ drawing, block, square, isForced = false, onPointer }: BlockProps) {
  const frame = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const isSeen = useInSight(frame) || isForced;
  const geo = geometry(drawing.grid, block, square);
  const marks = marksInside(drawing.marks, block);
  const { colours, token } = drawing;
  useLayoutEffect(() => {
    const context = canvas.current && scaledContext(canvas.current, geo.width, geo.height);
    if (context) drawBlock(context, { ...drawing, block, geo, marks });
  }, [isSeen, square, colours, token, block.first, JSON.stringify(marks)]);

  const tell = (kind: Pointed["kind"]) => (event: PointerEvent) => {
    const at = kind === "leave" ? null : positionUnder(block, geo, event.offsetX, event.offsetY);
    onPointer?.({ kind, at, shiftKey: event.shiftKey, isHeld: event.buttons === 1 });
  };
  return (
    <div class={block.rows === 1 ? "calendar-block calendar-row" : "calendar-block"}>
      {block.label !== "" && <div class="calendar-label">{block.label}</div>}
      <div
        ref={frame}
        data-first={block.first}
        class="calendar-squares"
        style={{ width: `${geo.width}px`, height: `${geo.height}px` }}
        onPointerDown={tell("down")}
        onPointerMove={tell("move")}
        onPointerUp={tell("up")}
        onPointerLeave={tell("leave")}
      >
        {isSeen && <canvas ref={canvas} />}
      </div>
    </div>
  );
}

/** Leave out what is marked elsewhere, so that a block is drawn only if it changed. */
function marksInside(marks: Marks, block: Block): Marks {
  const touches = ({ low, high }: Interval) => low <= block.last && high >= block.first;
  const { cursor, marked, outlined } = marks;
  const isHere = cursor !== null && block.first <= cursor && cursor <= block.last;
  return {
    cursor: isHere ? cursor : null,
    marked: marked.filter(touches),
    outlined: outlined.filter(touches),
  };
}

function useInSight(frame: { current: HTMLDivElement | null }): boolean {
  const canObserve = typeof IntersectionObserver !== "undefined";
  const [isSeen, setSeen] = useState(!canObserve);
  useEffect(() => {
    if (!canObserve || frame.current === null) return;
    const observer = new IntersectionObserver(
      (entries) => setSeen(entries.at(-1)?.isIntersecting ?? false),
      { rootMargin: MARGIN },
    );
    observer.observe(frame.current);
    return () => observer.disconnect();
  }, []);
  return isSeen;
}

/** Bring the block of a partition into sight. */
export function showBlock(root: HTMLElement, grid: Drawing["grid"], position: number): void {
  const { first } = blockAt(grid, position);
  root.querySelector(`[data-first="${first}"]`)?.scrollIntoView({ block: "nearest" });
}
