interface KeyboardGridProps {
  readonly own: { current: HTMLTableElement | null };
  readonly label: string;
  readonly name: string;
  readonly isMarked: boolean;
  readonly onKeyDown: (event: KeyboardEvent) => void;
}

/** The calendar as screen readers know it: a grid of which only the cell at the cursor exists. */
export function KeyboardGrid({ own, label, name, isMarked, onKeyDown }: KeyboardGridProps) {
  return (
    <table
      ref={own}
      class="calendar-keys"
      role="grid"
      tabIndex={0}
      aria-label={`${label}. Arrow keys move, Shift marks, Enter opens.`}
      aria-activedescendant="calendar-cell"
      aria-multiselectable="true"
      onKeyDown={onKeyDown}
    >
      <tbody>
        <tr>
          <td id="calendar-cell" aria-selected={isMarked}>
            {name}
          </td>
        </tr>
      </tbody>
    </table>
  );
}
