import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { usePrinting } from "../shell/printing";
import { listen } from "./listen";
import { number } from "./numbers";
import { seenRows } from "./seen";
import { type Key, sortRows } from "./sort";

export interface Column<Row> {
  readonly id: string;
  readonly title: string;
  /** Its least width in pixels; a wide table gives all columns more in the same proportion. */
  readonly width: number;
  readonly isNumber?: boolean;
  /** What rows are sorted by. */
  readonly key: (row: Row) => Key;
  readonly cell: (row: Row) => ComponentChildren;
}

/** Return a column of texts; unknown ones are empty and come last. */
export function textColumn<Row>(
  id: string,
  title: string,
  width: number,
  cell: (row: Row) => string,
): Column<Row> {
  return { id, title, width, key: (row) => cell(row) || null, cell };
}

/** Return a column of numbers, which stand on the right. */
export function numberColumn<Row>(
  id: string,
  title: string,
  width: number,
  key: (row: Row) => number | null,
  text: (value: number | null) => string = number,
): Column<Row> {
  return { id, title, width, isNumber: true, key, cell: (row) => text(key(row)) };
}

interface RowsProps<Row> {
  readonly name: string;
  readonly rows: readonly Row[];
  readonly columns: readonly Column<Row>[];
  readonly id: (row: Row) => string;
  /** The id of the column that rows are sorted by, with a minus for descending order. */
  readonly sort: string;
  readonly sortBy: (sort: string) => void;
}

/** Must equal --row in tokens.css. */
const ROW = 30;

/** A table of many rows of one height, which draws only those in sight; print shows all. */
export function Rows<Row>({ name, rows: unsorted, columns, id, sort, sortBy }: RowsProps<Row>) {
  const rows = useMemo(() => sortByColumn(unsorted, columns, sort), [unsorted, columns, sort]);
  const width = columns.reduce((sum, each) => sum + each.width, 0);
  const isPrinting = usePrinting();
  const { frame, view, look } = useView();
  const all = { first: 0, end: rows.length };
  const { first, end } = isPrinting ? all : seenRows(view.top, view.height, ROW, rows.length);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
    <section class="rows" ref={frame} onScroll={look} tabIndex={0} aria-label={name}>
      <table aria-rowcount={rows.length + 1} style={{ minWidth: isPrinting ? "0" : `${width}px` }}>
        <colgroup>
          {columns.map((each) => (
            <col key={each.id} style={{ width: `${(100 * each.width) / width}%` }} />
          ))}
        </colgroup>
        <Head columns={columns} sort={sort} sortBy={sortBy} />
        <tbody>
          <Gap rows={first} />
          {rows.slice(first, end).map((row, n) => (
            <tr key={id(row)} aria-rowindex={first + n + 2}>
              {columns.map((each) => (
                <td key={each.id} class={each.isNumber ? "number" : ""}>
                  {each.cell(row)}
                </td>
              ))}
            </tr>
          ))}
          <Gap rows={rows.length - end} />
        </tbody>
      </table>
    </section>
  );
}

/** Follow which part of a scrolling frame is in sight. */
function useView() {
  const frame = useRef<HTMLElement>(null);
  const [view, setView] = useState({ top: 0, height: 800 });
  const look = () => {
    const { scrollTop: top = 0, clientHeight: height = 800 } = frame.current ?? {};
    setView({ top, height: height || 800 });
  };
  useEffect(() => {
    look();
    return listen({ resize: look });
  }, []);
  return { frame, view, look };
}

function Gap({ rows }: { readonly rows: number }) {
  if (rows === 0) return null;
  return (
    <tr class="gap">
      <td style={{ height: `${rows * ROW}px` }} />
    </tr>
  );
}

type HeadProps<Row> = Pick<RowsProps<Row>, "columns" | "sort" | "sortBy">;

function Head<Row>({ columns, sort, sortBy }: HeadProps<Row>) {
  const by = sort.replace(/^-/, "");
  const order = sort.startsWith("-") ? "descending" : "ascending";
  return (
    <thead>
      <tr aria-rowindex={1}>
        {columns.map(({ id, title, isNumber }) => (
          <th
            key={id}
            scope="col"
            class={isNumber ? "number" : ""}
            aria-sort={id === by ? order : "none"}
          >
            <button type="button" onClick={() => sortBy(nextSort(sort, id, isNumber === true))}>
              {title}
              <span aria-hidden="true">
                {id === by ? (order === "ascending" ? " ↑" : " ↓") : ""}
              </span>
            </button>
          </th>
        ))}
      </tr>
    </thead>
  );
}

/** Return rows sorted by the named column, by the first one if no column has that name. */
export function sortByColumn<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  sort: string,
): readonly Row[] {
  const column = columns.find(({ id }) => id === sort.replace(/^-/, "")) ?? columns[0];
  return column ? sortRows(rows, column.key, sort) : rows;
}

/** Return the order after a click on a column: numbers begin with the greatest, then it turns. */
export function nextSort(sort: string, column: string, isNumber: boolean): string {
  if (sort === column) return `-${column}`;
  if (sort === `-${column}`) return column;
  return isNumber ? `-${column}` : column;
}
