export const SMALL = 5;
export const LITTLE = 8;
export const MEDIUM = 12;
const SQUARES: readonly number[] = [SMALL, LITTLE, MEDIUM, 18];
/** Narrower windows begin with the smallest squares. */
export const NARROW = 720;

interface ZoomProps {
  readonly square: number;
  readonly onSquare: (square: number) => void;
}

/** Buttons for the size of the squares. */
export function Zoom({ square, onSquare }: ZoomProps) {
  const at = SQUARES.indexOf(square);
  const button = (label: string, sign: string, to: number | undefined) => (
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
