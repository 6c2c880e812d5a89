import { useMemo, useRef, useState } from "preact/hooks";
import type { ProjectDocument, RunDocument } from "../data/documents";
import { sumByKey } from "../parts/collect";
import { counted } from "../parts/numbers";
import { State } from "../parts/State";
import { stateLook } from "../parts/states";
import { StepPanel } from "./StepPanel";
import {
  neighbour,
  type PlacedStep,
  stepWords,
  type Timeline,
  ticks,
  timelineOf,
} from "./timeline";
import "./timeline.css";

const LANE = 26;
const WIDEST = 32;
const TICKS = 6;

/** The steps of a run on a time axis, with the waiting before each. */
export function RunTimeline({ run, project }: { run: RunDocument; project: ProjectDocument }) {
  const timeline = useMemo(() => timelineOf(run, project), [run, project]);
  const [zoom, setZoom] = useState(1);
  const [opened, setOpened] = useState<number | null>(null);
  const placed = opened === null ? undefined : timeline.placed[opened];
  if (timeline.placed.length === 0) return <p>No step of this run has begun.</p>;
  return (
    <section class="timeline" aria-label="Steps on a time axis">
      <div class="timeline-head">
        <Results timeline={timeline} />
        <button type="button" disabled={zoom <= 1} onClick={() => setZoom(zoom / 2)}>
          Narrower
        </button>
        <button type="button" disabled={zoom >= WIDEST} onClick={() => setZoom(zoom * 2)}>
          Wider
        </button>
      </div>
      <div class="timeline-scroll">
        <Axis timeline={timeline} zoom={zoom} opened={opened} onOpen={setOpened} />
      </div>
      {timeline.unplaced.length > 0 && (
        <p>
          {counted(timeline.unplaced.length, "step")} did not begin:{" "}
          {timeline.unplaced.map(({ model, partitions }) => `${model} ${partitions}`).join(", ")}
        </p>
      )}
      {placed && <StepPanel placed={placed} project={project} onClose={() => setOpened(null)} />}
    </section>
  );
}

function Results({ timeline }: { timeline: Timeline }) {
  const counts = sumByKey(timeline.placed.map(({ step }) => [step.status, 1]));
  return (
    <ul class="timeline-results" aria-label="Legend">
      {[...counts].map(([status, count]) => (
        <li key={status}>
          <State name={status} count={count} />
        </li>
      ))}
      <li>
        <span class="timeline-sample" aria-hidden="true" /> waiting
      </li>
    </ul>
  );
}

interface AxisProps {
  readonly timeline: Timeline;
  readonly zoom: number;
  readonly opened: number | null;
  readonly onOpen: (index: number) => void;
}

function Axis({ timeline, zoom, opened, onOpen }: AxisProps) {
  const { placed, lanes, length } = timeline;
  const [focused, setFocused] = useState(0);
  const sheet = useRef<HTMLDivElement>(null);
  const share = (value: number) => `${(100 * value) / length}%`;
  const onKeyDown = (event: KeyboardEvent) => {
    const to = neighbour(timeline, focused, event.key);
    if (to === focused) return;
    event.preventDefault();
    setFocused(to);
    sheet.current?.querySelector<HTMLElement>(`[data-index="${to}"]`)?.focus();
  };
  const size = { width: `${zoom * 100}%`, height: `${lanes * LANE + LANE}px` };
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for forms
    <div ref={sheet} class="timeline-sheet" role="group" style={size} onKeyDown={onKeyDown}>
      {ticks(length, TICKS * zoom).map(({ at, text }) => (
        <div key={at} class="timeline-tick" style={{ left: share(at) }}>
          {text}
        </div>
      ))}
      {placed.map((each) => (
        <Wait key={each.step.step + each.from} placed={each} share={share} />
      ))}
      {placed.map((each, index) => (
        <Bar
          key={each.step.step + each.from}
          {...{ placed: each, index, share }}
          isFocusable={index === focused}
          isOpened={index === opened}
          onOpen={() => {
            setFocused(index);
            onOpen(index);
          }}
        />
      ))}
    </div>
  );
}

type Share = (value: number) => string;

function Wait({ placed, share }: { placed: PlacedStep; share: Share }) {
  const { from, waitFrom, lane } = placed;
  if (from <= waitFrom) return null;
  const style = { left: share(waitFrom), width: share(from - waitFrom), top: top(lane) };
  return <div class="timeline-wait" aria-hidden="true" style={style} />;
}

function top(lane: number): string {
  return `${(lane + 1) * LANE}px`;
}

interface BarProps {
  readonly placed: PlacedStep;
  readonly index: number;
  readonly share: Share;
  readonly isFocusable: boolean;
  readonly isOpened: boolean;
  readonly onOpen: () => void;
}

function Bar({ placed, index, share, isFocusable, isOpened, onOpen }: BarProps) {
  const { step, from, to, lane } = placed;
  const { words, sign, colour } = stateLook(step.status);
  const style = {
    left: share(from),
    width: share(to - from),
    top: top(lane),
    background: `var(${colour})`,
  };
  const label = stepWords(placed, words);
  return (
    <button
      type="button"
      class="timeline-bar"
      data-index={index}
      tabIndex={isFocusable ? 0 : -1}
      aria-label={label}
      aria-expanded={isOpened}
      title={label}
      style={style}
      onClick={onOpen}
    >
      {sign} {step.model} {step.partitions}
    </button>
  );
}
