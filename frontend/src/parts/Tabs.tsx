import type { ComponentChildren } from "preact";
import { usePrinting } from "../shell/printing";

export interface Tab {
  readonly id: string;
  readonly title: string;
  readonly panel: () => ComponentChildren;
}

interface TabsProps {
  readonly tabs: readonly Tab[];
  readonly shown: string;
  readonly show: (id: string) => void;
  readonly name: string;
}

/** Tabs that arrows, Home and End move between. Print shows all panels, each with its title. */
export function Tabs({ tabs, shown, show, name }: TabsProps) {
  const isPrinting = usePrinting();
  const active = tabs.find((each) => each.id === shown) ?? tabs[0];
  if (!active) return null;
  if (isPrinting) return <>{tabs.map((each) => printed(each))}</>;
  const press = (event: KeyboardEvent) => {
    const next = tabs[nextTab(event.key, tabs.indexOf(active), tabs.length)];
    if (!next) return;
    event.preventDefault();
    show(next.id);
    document.getElementById(`tab-${next.id}`)?.focus();
  };
  return (
    <>
      <div role="tablist" aria-label={name} class="tabs" onKeyDown={press}>
        {tabs.map((each) => (
          <button
            type="button"
            role="tab"
            key={each.id}
            id={`tab-${each.id}`}
            aria-selected={each === active}
            aria-controls={`panel-${each.id}`}
            tabIndex={each === active ? 0 : -1}
            onClick={() => show(each.id)}
          >
            {each.title}
          </button>
        ))}
      </div>
      <div role="tabpanel" id={`panel-${active.id}`} aria-labelledby={`tab-${active.id}`}>
        {active.panel()}
      </div>
    </>
  );
}

function printed({ id, title, panel }: Tab) {
  return (
    <section key={id}>
      <h2>{title}</h2>
      {panel()}
    </section>
  );
}

/** Return the place of the tab that a key goes to, -1 if the key is for something else. */
export function nextTab(key: string, place: number, count: number): number {
  if (key === "ArrowRight") return (place + 1) % count;
  if (key === "ArrowLeft") return (place + count - 1) % count;
  if (key === "Home") return 0;
  return key === "End" ? count - 1 : -1;
}
