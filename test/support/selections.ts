import { startSelectProcess } from "../../src/app/index.ts";
import { Selections, type Select, type SelectionLimits } from "../../src/exchange/index.ts";

/** Expressions evaluated as the collector does. */
export function selector(limits: Partial<SelectionLimits> = {}): Select {
  const selections = new Selections(startSelectProcess, limits);
  return (text, expression, signal) => selections.select(text, expression, signal);
}
