export const SQUARES = [5, 8, 12, 18] as const;

interface ZoomProps {
  readonly square: number;
  readonly onSquare: (square: (typeof SQUARES)[number]) => void;
}

/** Buttons for the size of the squares. */
export function Zoom({ square, onSquare }: ZoomProps) {
  const at = SQUARES.findIndex((each) => each === square);
  const button = (label: string, sign: string, to: (typeof SQUARES)[number] | undefined) => (
    <button
      type="button"
      aria-label={label}
      disabled={to === undefined}
      onClick={() => to !== undefined && onSquare(to)}
    >
      {sign}
    </button>
  );
  return (
    <span class="calendar-zoom">
      {button("Smaller squares", "−", SQUARES[at - 1])}
      {button("Larger squares", "+", SQUARES[at + 1])}
    </span>
  );
}
