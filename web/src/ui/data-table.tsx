import { useState } from "preact/hooks";
import type { ComponentChildren, JSX } from "preact";

/** A column of a table. */
export interface Column<Row> {
  readonly name: string;
  readonly cell: (row: Row) => ComponentChildren;
  /** Numbers are set to the right, in digits of one width. */
  readonly isNumber?: boolean;
  /** What rows are sorted by when the heading is chosen; without it they cannot be. */
  readonly sortBy?: (row: Row) => number | string;
  /** The name is for those who hear it: the cells say enough. */
  readonly isNameHidden?: boolean;
  /** Left out on narrow screens. */
  readonly isMinor?: boolean;
  readonly className?: string;
}

export interface DataTableProps<Row> {
  /** What the table is, for those who hear it. */
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
}

interface Order {
  readonly column: number;
  readonly isDown: boolean;
}

/** A table whose headings sort it. For thousands of rows at most: it draws them all. */
export function DataTable<Row>({ caption, columns, rows, keyOf }: DataTableProps<Row>): JSX.Element {
  const [order, setOrder] = useState<Order | undefined>(undefined);
  const sorted = order === undefined ? rows : sort(rows, columns[order.column]?.sortBy, order.isDown);
  return (
    <div class="table-scroll" tabIndex={0} role="region" aria-label={caption}>
      <table class="data">
        <caption class="hidden">{caption}</caption>
        <thead>
          <tr>
            {columns.map((column, index) => (
              <th
                key={column.name}
                scope="col"
                class={classOf(column)}
                aria-sort={order?.column === index ? (order.isDown ? "descending" : "ascending") : undefined}
              >
                {column.sortBy === undefined ? (
                  <span class={column.isNameHidden === true ? "hidden" : undefined}>{column.name}</span>
                ) : (
                  <button
                    type="button"
                    class="sort"
                    onClick={() => setOrder(nextOrder(order, index, column.isNumber === true))}
                  >
                    {column.name}
                    <span aria-hidden="true">{order?.column === index ? (order.isDown ? " ↓" : " ↑") : ""}</span>
                  </button>
                )}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {sorted.map((row) => (
            <tr key={keyOf(row)}>
              {columns.map((column) => (
                <td key={column.name} class={classOf(column)}>
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Numbers begin with the largest. A third choice of the same heading gives the first order back. */
function nextOrder(order: Order | undefined, column: number, startsDown: boolean): Order | undefined {
  if (order?.column !== column) return { column, isDown: startsDown };
  return order.isDown === startsDown ? { column, isDown: !startsDown } : undefined;
}

function sort<Row>(rows: readonly Row[], by: Column<Row>["sortBy"], isDown: boolean): readonly Row[] {
  if (by === undefined) return rows;
  const sign = isDown ? -1 : 1;
  return rows.toSorted((one, other) => {
    const [a, b] = [by(one), by(other)];
    if (typeof a === "string" && typeof b === "string") return sign * a.localeCompare(b, "en", { numeric: true });
    return sign * (Number(a) - Number(b));
  });
}

function classOf<Row>({ isNumber = false, isMinor = false, className = "" }: Column<Row>): string {
  return [isNumber ? "number" : "", isMinor ? "minor" : "", className].filter((part) => part !== "").join(" ");
}
