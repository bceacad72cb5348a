/** One thing that is wrong with one row. */
export interface ImportFault {
  /** In a sheet as its program counts, the header being row 1; else the first row is 1. 0: the whole text. */
  readonly row: number;
  /** Line of the text where the row begins; 0 when it has none of its own (JSON). */
  readonly line: number;
  /** The column, or the path in an object, that the value came from; "" when it is about the row. */
  readonly column: string;
  /** The field of the entry: `key`, `tags[2]`, `metadata[".site"]`; "" when it is about the row. */
  readonly field: string;
  /** A sentence that names the offending value. */
  readonly reason: string;
  /** Lines from `line` on that could not be read because of it, so that nobody knows how many rows they have; left out: no more than its row. */
  readonly lines?: number;
}

/** Gathers faults: all are counted, the first ones kept; one that leaves lines unread is among them. */
export interface FaultList {
  readonly faults: readonly ImportFault[];
  readonly count: number;
  add(fault: ImportFault): void;
}

export function createFaultList(mostKept: number): FaultList {
  const faults: ImportFault[] = [];
  let count = 0;
  return {
    faults,
    get count() {
      return count;
    },
    add(fault) {
      if (count++ < mostKept) faults.push(fault);
      else if (fault.lines !== undefined) faults[mostKept - 1] = fault;
    },
  };
}
