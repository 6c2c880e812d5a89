import type { ComponentChildren } from "preact";

interface TableProps {
  readonly heads: readonly string[];
  /** Heads of columns with numbers, which stand on the right. */
  readonly numbers?: readonly string[];
  readonly children: ComponentChildren;
}

/** A table of few rows, which are its children. */
export function Table({ heads, numbers = [], children }: TableProps) {
  return (
    <table class="plain">
      <thead>
        <tr>
          {heads.map((head) => (
            <th key={head} scope="col" class={numbers.includes(head) ? "number" : ""}>
              {head}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  );
}
