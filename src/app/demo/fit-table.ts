import { textTable } from "../cli/text-table.ts";

/** A cell: `text` is cut where the table is too wide, `kept` follows it and is never cut. */
export interface FittedCell {
  readonly text: string;
  readonly kept?: string;
}

const gap = 2;
/** A text is cut to this at least: two characters and the mark. */
const leastText = 3;

/** Rows as a table of at most `width` columns: texts of the widest columns are cut, and end with `…`. */
export function fitTable(header: readonly string[], rows: readonly (readonly FittedCell[])[], width: number): string {
  const cellsOf = (column: number): readonly FittedCell[] => rows.flatMap((row) => row[column] ?? []);
  const least = header.map((name, at) => Math.max(name.length, ...cellsOf(at).map(leastOf)));
  const widths = header.map((name, at) => Math.max(name.length, ...cellsOf(at).map((cell) => cellText(cell).length)));
  const room = width - gap * (header.length - 1);
  while (widths.reduce((sum, each) => sum + each, 0) > room) {
    const widest = widths.reduce(
      (best, each, at) => (each > (least[at] ?? 0) && each > (widths[best] ?? -1) ? at : best),
      -1,
    );
    if (widest === -1) break;
    widths[widest] = (widths[widest] ?? 0) - 1;
  }
  return textTable(
    header,
    rows.map((row) => row.map((cell, at) => cutTo(cell, widths[at] ?? 0))),
  );
}

const cellText = ({ text, kept = "" }: FittedCell): string => `${text}${kept}`;

const leastOf = ({ text, kept = "" }: FittedCell): number => Math.min(text.length, leastText) + kept.length;

function cutTo(cell: FittedCell, width: number): string {
  const { text, kept = "" } = cell;
  const room = width - kept.length;
  if (text.length <= room) return cellText(cell);
  // Half of a character of two units is none.
  return `${text.slice(0, room - 1).replace(/[\uD800-\uDBFF]$/, "")}…${kept}`;
}
