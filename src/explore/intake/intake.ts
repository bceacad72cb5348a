import { isMetadataName, type Column } from "../columns/column.ts";
import { blockRows, clearBlock, clearRow, createBlock, type Block } from "./block.ts";
import { createLineScanner, type LineScanner } from "./line-scanner.ts";

/** Turns lines of records into blocks of rows. */
export interface Intake {
  /** Reads whole lines that stand for this many records, each for as many as the others. */
  take(lines: Buffer, records: number): void;
  /** Gives away the rows that are there. */
  flush(): void;
  readonly counts: IntakeCounts;
}

export interface IntakeCounts {
  /** Flows that became rows. */
  rows: number;
  /** Records that are no flows. */
  others: number;
}

export interface IntakeOptions {
  readonly columns: readonly Column[];
  /** How many columns metadata may add. */
  readonly maxNames: number;
  /** Is given rows, which it must have copied when it returns. */
  readonly onBlock: (block: Block) => void;
  /** Is given names of metadata that have no column. @returns the columns that rows have from the one at hand on. */
  readonly onNames: (names: readonly string[]) => readonly Column[];
}

const lineFeed = 0x0a;

export function createIntake({ columns, maxNames, onBlock, onNames }: IntakeOptions): Intake {
  const counts: IntakeCounts = { rows: 0, others: 0 };
  const found = new Set<string>();
  /** Those of the line at hand. */
  let unknown: string[] = [];
  /** Where the lines at hand end. */
  const ends: number[] = [];
  let scanner: LineScanner;
  let block: Block;

  const setColumns = (wanted: readonly Column[]): void => {
    scanner = createLineScanner(wanted, (name) => {
      if (found.size >= maxNames || found.has(name) || !isMetadataName(name)) return;
      found.add(name);
      unknown.push(name);
    });
    block = createBlock(wanted);
  };
  setColumns(columns);

  const flush = (): void => {
    if (block.rows === 0) return;
    onBlock(block);
    clearBlock(block);
  };

  /** Reads a line into the next row, again where it has names that become columns: no value of them is missing. */
  const scan = (lines: Buffer, from: number, end: number): boolean => {
    const isFlow = scanner.scan(lines, from, end, block);
    if (unknown.length === 0) return isFlow;
    const names = unknown;
    unknown = [];
    clearRow(block);
    flush();
    setColumns(onNames(names));
    return scanner.scan(lines, from, end, block);
  };

  return {
    counts,
    take(lines, records) {
      ends.length = 0;
      for (let at = 0; at < lines.length; at = (ends.at(-1) as number) + 1) {
        const end = lines.indexOf(lineFeed, at);
        ends.push(end < 0 ? lines.length : end);
      }
      const weight = Math.round(records / ends.length);
      let from = 0;
      for (const end of ends) {
        if (scan(lines, from, end)) {
          counts.rows++;
          block.weights[block.rows++] = weight;
          if (block.rows === blockRows) flush();
        } else counts.others++;
        from = end + 1;
      }
    },
    flush,
  };
}
