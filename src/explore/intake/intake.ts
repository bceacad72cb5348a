import { isMetadataName, type Column } from "../columns/column.ts";
import { blockRows, clearBlock, createBlock, type Block } from "./block.ts";
import { createLineEnds } from "./line-ends.ts";
import { createLineScanner, type LineScanner } from "./line-scanner.ts";
import type { Sampler } from "./sampler.ts";

/** Turns lines of records into blocks of rows. */
export interface Intake {
  /** Reads whole lines, so many as `count` says. */
  take(lines: Buffer, count: number): void;
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
  /** Records that others stand for. */
  sampledOut: number;
}

export interface IntakeOptions {
  readonly columns: readonly Column[];
  /** How many columns metadata may add. */
  readonly maxNames: number;
  readonly sampler: Sampler;
  /** Is given rows, which it must have copied when it returns. */
  readonly onBlock: (block: Block) => void;
}

export function createIntake({ columns, maxNames, sampler, onBlock }: IntakeOptions): Intake {
  const counts: IntakeCounts = { rows: 0, others: 0, sampledOut: 0 };
  const found = new Set<string>();
  const lineEnds = createLineEnds();
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
    take(lines, count) {
      const { ends, length } = lineEnds.find(lines, count);
      let from = 0;
      for (let i = 0; i < length; i++) {
        const end = ends[i] as number;
        const weight = sampler.next();
        if (weight === 0) counts.sampledOut++;
        else if (scanner.scan(lines, from, end, block)) {
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
