/** Colours of the theme for canvases, which know no CSS variables. */

import { useEffect, useState } from "preact/hooks";

/** Return the value of a CSS variable now. */
export function token(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** Return the function that reads CSS variables; another one after the theme changed. */
export function useToken(): (name: string) => string {
  const [token, setToken] = useState(() => rememberedToken());
  useEffect(() => {
    const observer = new MutationObserver(() => setToken(() => rememberedToken()));
    observer.observe(document.documentElement, { attributeFilter: ["data-theme"] });
    return () => observer.disconnect();
  }, []);
  return token;
}

/** Styles are slow to compute, so each variable is read once. */
function rememberedToken(): (name: string) => string {
  const known = new Map<string, string>();
  return (name) => {
    const value = known.get(name) ?? token(name);
    known.set(name, value);
    return value;
  };
}

/** Return a canvas's context scaled to the screen's pixels, null where there is none. */
export function scaledContext(
  canvas: HTMLCanvasElement,
  width: number,
  height: number,
): CanvasRenderingContext2D | null {
  const scale = window.devicePixelRatio || 1;
  canvas.width = Math.ceil(width * scale);
  canvas.height = Math.ceil(height * scale);
  const context = canvas.getContext("2d");
  context?.setTransform(scale, 0, 0, scale, 0, 0);
  return context;
}
