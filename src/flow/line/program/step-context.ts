import type { Direction } from "../biflow/direction.ts";
import * as layout from "../../kernel/layout.ts";
import type { Step } from "../../exporters/templates/plan.ts";
import type { PlacedTable } from "./byte-table.ts";
import type { LineHelper } from "./line-helper.ts";
import type { NameBits } from "./name-bits.ts";
import type { ProgramContext } from "./write-field.ts";

/** What writing the program of one direction takes. */
export interface StepContext extends Omit<ProgramContext, "written"> {
  readonly direction: Direction;
  /** The bit of each name that is added only where a record has none of it. */
  readonly nameBits: NameBits;
  readonly byteTable: (steps: readonly Step[]) => PlacedTable;
  /** Bytes that tables give to a line at most. */
  maxTables: number;
}

/** One step as it is in the line of a direction. */
export interface DirectedStep {
  readonly step: Step;
  /** Undefined: an output that is not in this line under its own name. */
  readonly names: readonly (string | undefined)[];
}

/** Leaves what is to be done here to a helper outside of the kernel. */
export function writeHelper(context: StepContext, helper: LineHelper): void {
  context.writer.operation({ code: layout.opHelper, argument: context.helper(helper) });
}
