import { useLayoutEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { useToken } from "./canvas";
import { listen } from "./listen";
import { UNKNOWN } from "./numbers";
import { absolute } from "./times";

/** A line of a chart. */
export interface ChartLine {
  readonly title: string;
  /** The name of the axis that it is measured on; lines may share one. */
  readonly scale: string;
  /** The token of its colour. */
  readonly colour: string;
  readonly values: readonly (number | null)[];
  readonly text: (value: number | null) => string;
  readonly isDashed?: boolean;
}

interface ChartProps {
  readonly name: string;
  /** Seconds since 1970, ascending. */
  readonly times: readonly number[];
  readonly lines: readonly ChartLine[];
}

const HEIGHT = 180;
const MIDNIGHT = " 00:00:00";

/** Lines over time on up to two axes, left and right. */
export function Chart({ name, times, lines }: ChartProps) {
  const place = useRef<HTMLDivElement>(null);
  const token = useToken();
  useLayoutEffect(() => {
    const target = place.current;
    if (!target) return;
    const chart = draw(target, times, lines, token);
    const resize = () => chart.setSize({ width: widthOf(target), height: HEIGHT });
    const stop = listen({ resize });
    return () => {
      stop();
      chart.destroy();
    };
  }, [times, lines, token]);
  return <div class="chart" ref={place} role="img" aria-label={name} />;
}

function draw(
  target: HTMLElement,
  times: readonly number[],
  lines: readonly ChartLine[],
  token: (name: string) => string,
): uPlot {
  const ink = token("--quiet");
  const axes = lines.filter((line, n) => line.scale !== lines[n - 1]?.scale);
  const grid = { stroke: token("--line"), width: 1 };
  const options: uPlot.Options = {
    width: widthOf(target),
    height: HEIGHT,
    series: [
      { label: "Time", value: (_, at) => timeText(at) },
      ...lines.map((line) => series(line, token(line.colour))),
    ],
    axes: [
      { stroke: ink, grid, space: 140, values: (_, ticks) => ticks.map(timeText) },
      ...axes.map(({ scale, text }, n) => ({
        scale,
        side: (n === 0 ? 3 : 1) as uPlot.Axis.Side,
        stroke: ink,
        size: 84,
        grid: n === 0 ? grid : { show: false },
        values: (_: uPlot, ticks: number[]) => ticks.map(text),
      })),
    ],
  };
  const data = [[...times], ...lines.map((line) => [...line.values])] as uPlot.AlignedData;
  return new uPlot(options, data, target);
}

function timeText(at: number | null): string {
  return at === null ? UNKNOWN : absolute(new Date(at * 1000).toISOString()).replace(MIDNIGHT, "");
}

function widthOf(target: HTMLElement): number {
  return Math.max(280, target.clientWidth);
}

function series({ title, scale, text, isDashed }: ChartLine, stroke: string): uPlot.Series {
  return {
    label: title,
    scale,
    stroke,
    width: 1.5,
    ...(isDashed ? { dash: [5, 4] } : {}),
    value: (_, value) => text(value),
  };
}
