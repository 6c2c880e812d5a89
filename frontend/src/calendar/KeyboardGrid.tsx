// biome-ignore-all lint/a11y/useSemanticElements: a table of a million cells would stop the page

interface KeyboardGridProps {
  readonly own: { current: HTMLDivElement | null };
  readonly label: string;
  readonly name: string;
  readonly isMarked: boolean;
  readonly onKeyDown: (event: KeyboardEvent) => void;
}

/** The calendar as screen readers know it: a grid of which only the cell at the cursor exists. */
export function KeyboardGrid({ own, label, name, isMarked, onKeyDown }: KeyboardGridProps) {
  return (
    <div
      ref={own}
      class="calendar-keys"
      role="grid"
      tabIndex={0}
      aria-label={`${label}. Arrow keys move, Shift marks, Enter opens.`}
      aria-activedescendant="calendar-cell"
      aria-multiselectable="true"
      onKeyDown={onKeyDown}
    >
      <div role="row" tabIndex={-1}>
        <div id="calendar-cell" role="gridcell" tabIndex={-1} aria-selected={isMarked}>
          {name}
        </div>
      </div>
    </div>
  );
}
