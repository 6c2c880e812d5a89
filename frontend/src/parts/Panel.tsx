import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import "./panel.css";

interface PanelProps {
  readonly name: string;
  /** What the panel is about; a change takes the focus to its title. */
  readonly about: string;
  readonly title: ComponentChildren;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

/** Details that a click opened, closed by a button or Escape. */
export function Panel({ name, about, title, onClose, children }: PanelProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus(), [about]);
  return (
    <section
      class="panel"
      aria-label={name}
      onKeyDown={(event) => event.key === "Escape" && onClose()}
    >
      <h3 ref={heading} tabIndex={-1}>
        {title}
      </h3>
      <button type="button" class="panel-close" onClick={onClose}>
        Close
      </button>
      {children}
    </section>
  );
}
