import { useLayoutEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";

/** A line of a chart; each has a scale of its own. */
export interface ChartLine {
  readonly title: string;
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

/** Up to two lines over time, with axes left and right. */
export function Chart({ name, times, lines }: ChartProps) {
  const place = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const target = place.current;
    if (!target) return;
    let chart = draw(target, times, lines);
    const redraw = () => {
      chart.destroy();
      chart = draw(target, times, lines);
    };
    const theme = new MutationObserver(redraw);
    theme.observe(document.documentElement, { attributeFilter: ["data-theme"] });
    addEventListener("resize", redraw);
    return () => {
      theme.disconnect();
      removeEventListener("resize", redraw);
      chart.destroy();
    };
  }, [times, lines]);
  return <div class="chart" ref={place} role="img" aria-label={name} />;
}

function draw(target: HTMLElement, times: readonly number[], lines: readonly ChartLine[]): uPlot {
  const style = getComputedStyle(document.documentElement);
  const token = (name: string) => style.getPropertyValue(name).trim();
  const ink = token("--quiet");
  const grid = { stroke: token("--line"), width: 1 };
  const options: uPlot.Options = {
    width: Math.max(280, target.clientWidth),
    height: HEIGHT,
    series: [{}, ...lines.map((line) => series(line, token(line.colour)))],
    axes: [
      { stroke: ink, grid },
      ...lines.map(({ title, text }, n) => ({
        scale: title,
        side: (n === 0 ? 3 : 1) as uPlot.Axis.Side,
        stroke: ink,
        size: 70,
        grid: n === 0 ? grid : { show: false },
        values: (_: uPlot, ticks: number[]) => ticks.map(text),
      })),
    ],
  };
  const data = [[...times], ...lines.map((line) => [...line.values])] as uPlot.AlignedData;
  return new uPlot(options, data, target);
}

function series({ title, text, isDashed }: ChartLine, stroke: string): uPlot.Series {
  return {
    label: title,
    scale: title,
    stroke,
    width: 1.5,
    ...(isDashed ? { dash: [5, 4] } : {}),
    value: (_, value) => text(value),
  };
}
