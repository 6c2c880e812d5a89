import { useState } from "preact/hooks";

export type Theme = "light" | "dark";

const KEY = "penstock-theme";

/** Return what the reader chose, null for the system's wish. Some browsers refuse storage. */
function chosen(): Theme | null {
  try {
    const text = localStorage.getItem(KEY);
    return text === "light" || text === "dark" ? text : null;
  } catch {
    return null;
  }
}

function choose(theme: Theme | null): void {
  try {
    if (theme) localStorage.setItem(KEY, theme);
    else localStorage.removeItem(KEY);
  } catch {
    // The choice then lasts as long as the page.
  }
}

function ofSystem(): Theme {
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

function show(theme: Theme): void {
  document.documentElement.dataset.theme = theme;
}

/** Show the chosen theme, or the system's while nothing is chosen; print in light colours. */
export function startTheme(): void {
  const wanted = () => show(chosen() ?? ofSystem());
  wanted();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", wanted);
  addEventListener("beforeprint", () => show("light"));
  addEventListener("afterprint", wanted);
}

/** Return the shown theme and a function that turns to the other one. */
export function useTheme(): readonly [Theme, () => void] {
  const [theme, setTheme] = useState<Theme>(() => chosen() ?? ofSystem());
  const turn = () => {
    const next = theme === "dark" ? "light" : "dark";
    choose(next === ofSystem() ? null : next);
    show(next);
    setTheme(next);
  };
  return [theme, turn];
}
