import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { scaledContext, useToken } from "../parts/canvas";
import { listen } from "../parts/listen";
import { MANY_LINES, mapScale, type Painting, paint, paintMap } from "./paint";
import { nodeWords, type Scene, type SceneNode } from "./scene";
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
  const press = (key: string) => {
    const after = viewAfterKey(key, view, scene, screen);
    if (after !== null) setView(after);
    return after !== null;
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (press(event.key)) event.preventDefault();
  };
  // A drag ends with a click, too; a key's click has no detail.
  const isMeant = (event: MouseEvent) => event.detail === 0 || !pointer.hasMoved();
  const onClick = (event: MouseEvent) => {
    if (!isMeant(event) || (event.target as HTMLElement).closest("button")) return;
    const under = nodeUnder(scene, view, event.offsetX, event.offsetY);
    if (under !== undefined) onOpen(under.id);
  };
  const handlers = { onKeyDown, onClick, onPointerDown: pointer.start };
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for forms
    <div ref={frame} class="lineage-graph" role="group" aria-label="Graph" {...handlers}>
      <Canvases {...{ scene, view, screen, chosen, lit }} />
      <ZoomButtons press={press} />
      {seen.length <= MOST_BUTTONS &&
        seen.map((node) => (
          <NodeButton
            key={node.id}
            {...{ node, view }}
            isChosen={node.id === chosen}
            onClick={(event) => isMeant(event) && onOpen(node.id)}
          />
        ))}
    </div>
  );
}

function viewAfterKey(key: string, view: View, scene: Scene, screen: Size): View | null {
  const [dx, dy] = PAN[key] ?? [0, 0];
  if (dx !== 0 || dy !== 0) return { ...view, x: view.x + dx, y: view.y + dy };
  const factor = { "+": 1.25, "-": 0.8 }[key];
  if (factor !== undefined) return zoomed(view, factor, screen.width / 2, screen.height / 2);
  return key === "0" ? fitted(scene, screen) : null;
}

interface NodeButtonProps {
  readonly node: SceneNode;
  readonly view: View;
  readonly isChosen: boolean;
  readonly onClick: (event: MouseEvent) => void;
}

function NodeButton({ node, view, isChosen, onClick }: NodeButtonProps) {
  const style = {
    left: `${view.x + (node.x - node.width / 2) * view.scale}px`,
    top: `${view.y + (node.y - node.height / 2) * view.scale}px`,
    width: `${node.width * view.scale}px`,
    height: `${node.height * view.scale}px`,
  };
  return (
    <button
      type="button"
      class="lineage-node"
      title={nodeWords(node)}
      aria-pressed={isChosen}
      style={style}
      onClick={onClick}
    >
      <span class="hidden">{nodeWords(node)}</span>
    </button>
  );
}

const ZOOM = [
  ["+", "+", "Zoom in"],
  ["-", "−", "Zoom out"],
  ["0", "All", "Show all"],
] as const;

function ZoomButtons({ press }: { press: (key: string) => void }) {
  return (
    <div class="lineage-zoom">
      {ZOOM.map(([key, text, label]) => (
        <button
          key={key}
          type="button"
          class="small"
          aria-label={label}
          title={`${label} (key ${key}); arrow keys move the graph`}
          onClick={() => press(key)}
        >
          {text}
        </button>
      ))}
    </div>
  );
}

type CanvasesProps = Omit<Painting, "token" | "hasLines">;

/** Milliseconds without a move after which many lines are drawn. */
const REST = 120;

function Canvases({ scene, view, screen, chosen, lit }: CanvasesProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const map = useRef<HTMLCanvasElement>(null);
  const token = useToken();
  useLayoutEffect(() => {
    if (screen === UNMEASURED) return;
    const hasLines = scene.edges.length <= MANY_LINES;
    const painting = { scene, view, screen, chosen, lit, token, hasLines };
    const large = canvas.current && scaledContext(canvas.current, screen.width, screen.height);
    if (large) paint(large, painting);
    const small = map.current && scaledContext(map.current, MAP.width, MAP.height);
    if (small) paintMap(small, painting, MAP);
    if (hasLines || !large) return;
    const timer = setTimeout(() => paint(large, { ...painting, hasLines: true }), REST);
    return () => clearTimeout(timer);
  }, [scene, view, screen, chosen, lit, token]);
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
  const kept = keptView(state.view, state.scene, scene, chosen);
  const isMeasured = state.screen !== UNMEASURED;
  const view = (isMeasured ? kept : null) ?? fitted(scene, screen);
  setState({ scene, screen, view });
  return [view, setView];
}

function keptView(view: View, old: Scene, scene: Scene, chosen: string | null): View | null {
  if (old === scene) return view;
  const before = old.nodes.find(({ id }) => id === chosen);
  const after = scene.nodes.find(({ id }) => id === chosen);
  if (before === undefined || after === undefined) return null;
  const { x, y, scale } = view;
  return { x: x + (before.x - after.x) * scale, y: y + (before.y - after.y) * scale, scale };
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
    const stop = listen({
      pointermove: move,
      pointerup: () => stop(),
      pointercancel: () => stop(),
    });
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
