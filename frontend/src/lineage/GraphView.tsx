import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { cssColour, scaledContext, useThemeChanges } from "../calendar/theme";
import { mapScale, type Painting, paint, paintMap } from "./paint";
import { nodeWords, type Scene } from "./scene";
import { fitted, nodesInSight, nodeUnder, type Size, type View, zoomed } from "./view";

interface GraphViewProps {
  readonly scene: Scene;
  readonly chosen: string | null;
  readonly lit: ReadonlySet<string> | null;
  readonly onOpen: (id: string) => void;
}

const MAP: Size = { width: 150, height: 90 };
const MOST_BUTTONS = 200;
const STEP = 60;
const UNMEASURED: Size = { width: 800, height: 500 };
const PAN: Readonly<Record<string, readonly [number, number]>> = {
  ArrowLeft: [STEP, 0],
  ArrowRight: [-STEP, 0],
  ArrowUp: [0, STEP],
  ArrowDown: [0, -STEP],
};

/** A scene on a canvas with pan and zoom; its nodes are buttons if few are in sight. */
export function GraphView({ scene, chosen, lit, onOpen }: GraphViewProps) {
  const frame = useRef<HTMLDivElement>(null);
  const screen = useSize(frame);
  const [view, setView] = useView(scene, screen, chosen);
  const pointer = usePan(view, setView);
  useWheel(frame, view, setView);
  const seen = nodesInSight(scene, view, screen);
  const zoom = (factor: number) =>
    setView(zoomed(view, factor, screen.width / 2, screen.height / 2));
  const onKeyDown = (event: KeyboardEvent) => {
    const [dx, dy] = PAN[event.key] ?? [0, 0];
    if (dx !== 0 || dy !== 0) setView({ ...view, x: view.x + dx, y: view.y + dy });
    else if (event.key === "+") zoom(1.25);
    else if (event.key === "-") zoom(0.8);
    else if (event.key === "0") setView(fitted(scene, screen));
    else return;
    event.preventDefault();
  };
  const onClick = (event: MouseEvent) => {
    if (pointer.hasMoved() || (event.target as HTMLElement).closest("button")) return;
    const under = nodeUnder(scene, view, event.offsetX, event.offsetY);
    if (under !== undefined) onOpen(under.id);
  };
  const handlers = { onKeyDown, onClick, onPointerDown: pointer.start };
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for forms
    <div ref={frame} class="lineage-graph" role="group" aria-label="Graph" {...handlers}>
      <Canvases {...{ scene, view, screen, chosen, lit }} />
      <div class="lineage-zoom">
        <ZoomButton label="Zoom in" sign="+" onClick={() => zoom(1.25)} />
        <ZoomButton label="Zoom out" sign="−" onClick={() => zoom(0.8)} />
        <ZoomButton label="Show all" sign="0" onClick={() => setView(fitted(scene, screen))} />
      </div>
      {seen.length <= MOST_BUTTONS &&
        seen.map((node) => (
          <button
            key={node.id}
            type="button"
            class="lineage-node"
            title={nodeWords(node)}
            aria-pressed={node.id === chosen}
            style={{
              left: `${view.x + (node.x - node.width / 2) * view.scale}px`,
              top: `${view.y + (node.y - node.height / 2) * view.scale}px`,
              width: `${node.width * view.scale}px`,
              height: `${node.height * view.scale}px`,
            }}
            onClick={() => !pointer.hasMoved() && onOpen(node.id)}
          >
            <span class="hidden">{nodeWords(node)}</span>
          </button>
        ))}
    </div>
  );
}

interface ZoomButtonProps {
  readonly label: string;
  readonly sign: string;
  readonly onClick: () => void;
}

function ZoomButton({ label, sign, onClick }: ZoomButtonProps) {
  return (
    <button
      type="button"
      class="small"
      aria-label={label}
      title={`${label}; arrow keys move the graph`}
      onClick={onClick}
    >
      {sign}
    </button>
  );
}

type CanvasesProps = Omit<Painting, "colours">;

function Canvases({ scene, view, screen, chosen, lit }: CanvasesProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const map = useRef<HTMLCanvasElement>(null);
  const theme = useThemeChanges();
  useLayoutEffect(() => {
    const known = new Map<string, string>();
    const colours = (name: string) => {
      const value = known.get(name) ?? cssColour(name);
      known.set(name, value);
      return value;
    };
    const painting = { scene, view, screen, chosen, lit, colours };
    const large = canvas.current && scaledContext(canvas.current, screen.width, screen.height);
    if (large) paint(large, painting);
    const small = map.current && scaledContext(map.current, MAP.width, MAP.height);
    if (small) paintMap(small, painting, MAP);
  }, [scene, view, screen, chosen, lit, theme]);
  const scale = mapScale(scene, MAP);
  const size = { width: `${scene.width * scale}px`, height: `${scene.height * scale}px` };
  return (
    <>
      <div aria-hidden="true">
        <canvas ref={canvas} class="lineage-canvas" />
      </div>
      <div class="lineage-map" style={size} aria-hidden="true">
        <canvas ref={map} style={{ width: `${MAP.width}px`, height: `${MAP.height}px` }} />
      </div>
    </>
  );
}

function useSize(frame: { current: HTMLElement | null }): Size {
  const [size, setSize] = useState(UNMEASURED);
  useLayoutEffect(() => {
    const element = frame.current;
    if (element === null) return;
    const measure = () => {
      const { clientWidth: width, clientHeight: height } = element;
      if (width > 0 && height > 0) setSize({ width, height });
    };
    measure();
    if (typeof ResizeObserver === "undefined") return;
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return size;
}

type SetView = (view: View) => void;

/** A new scene is shown as a whole, unless it grew around a node: that node stays in its place. */
function useView(scene: Scene, screen: Size, chosen: string | null): readonly [View, SetView] {
  const [state, setState] = useState({ scene, screen, view: fitted(scene, screen) });
  const setView = (view: View) => setState({ scene, screen, view });
  if (state.scene === scene && state.screen === screen) return [state.view, setView];
  const before = state.scene.nodes.find(({ id }) => id === chosen);
  const after = scene.nodes.find(({ id }) => id === chosen);
  const { view } = state;
  const kept =
    before !== undefined && after !== undefined && state.scene !== scene
      ? {
          ...view,
          x: view.x + (before.x - after.x) * view.scale,
          y: view.y + (before.y - after.y) * view.scale,
        }
      : fitted(scene, screen);
  setState({ scene, screen, view: kept });
  return [kept, setView];
}

const STILL = 4;

function usePan(view: View, setView: SetView) {
  const current = useRef({ view, setView });
  current.current = { view, setView };
  const moved = useRef(0);
  const start = (event: PointerEvent) => {
    if (event.button !== 0) return;
    moved.current = 0;
    let last = { x: event.clientX, y: event.clientY };
    const move = (next: PointerEvent) => {
      const [dx, dy] = [next.clientX - last.x, next.clientY - last.y];
      last = { x: next.clientX, y: next.clientY };
      moved.current += Math.abs(dx) + Math.abs(dy);
      const { view: now, setView: set } = current.current;
      if (moved.current > STILL) set({ ...now, x: now.x + dx, y: now.y + dy });
    };
    const stop = () => {
      removeEventListener("pointermove", move);
      removeEventListener("pointerup", stop);
      removeEventListener("pointercancel", stop);
    };
    addEventListener("pointermove", move);
    addEventListener("pointerup", stop);
    addEventListener("pointercancel", stop);
  };
  return { start, hasMoved: () => moved.current > STILL };
}

/** Preact's wheel handlers are passive in some browsers, so the page would scroll as well. */
function useWheel(frame: { current: HTMLElement | null }, view: View, setView: SetView): void {
  useEffect(() => {
    const element = frame.current;
    if (element === null) return;
    const onWheel = (event: WheelEvent) => {
      event.preventDefault();
      const { left, top } = element.getBoundingClientRect();
      const factor = Math.exp(-event.deltaY / 400);
      setView(zoomed(view, factor, event.clientX - left, event.clientY - top));
    };
    element.addEventListener("wheel", onWheel, { passive: false });
    return () => element.removeEventListener("wheel", onWheel);
  }, [view]);
}
