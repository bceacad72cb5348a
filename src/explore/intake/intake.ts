import { isMetadataName, type Column } from "../columns/column.ts";
import { blockRows, clearBlock, createBlock, type Block } from "./block.ts";
import { createLineScanner, type LineScanner } from "./line-scanner.ts";

/** Turns lines of records into blocks of rows. */
export interface Intake {
  /** Reads whole lines that stand for this many records, each for as many as the others. */
  take(lines: Buffer, records: number): void;
  /** Gives away the rows that are there. */
  flush(): void;
  /** Names of metadata that were seen and have no column. Not more than there is room for. */
  newNames(): readonly string[];
  /** From here on, rows have these columns. What is there must have been given away. */
  setColumns(columns: readonly Column[]): void;
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
}

const lineFeed = 0x0a;

export function createIntake({ columns, maxNames, onBlock }: IntakeOptions): Intake {
  const counts: IntakeCounts = { rows: 0, others: 0 };
  const found = new Set<string>();
  /** Where the lines at hand end. */
  const ends: number[] = [];
  let scanner: LineScanner;
  let block: Block;

  const setColumns = (wanted: readonly Column[]): void => {
    scanner = createLineScanner(wanted, (name) => {
      if (found.size < maxNames && isMetadataName(name)) found.add(name);
    });
    block = createBlock(wanted);
  };
  setColumns(columns);

  const flush = (): void => {
    if (block.rows === 0) return;
    onBlock(block);
    clearBlock(block);
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
        if (scanner.scan(lines, from, end, block)) {
          counts.rows++;
          block.weights[block.rows++] = weight;
          if (block.rows === blockRows) flush();
        } else counts.others++;
        from = end + 1;
      }
    },
    flush,
    newNames: () => [...found],
    setColumns,
  };
}
