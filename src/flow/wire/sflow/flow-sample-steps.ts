import { bytesLayer, type CounterNames } from "../../elements/mapping/counter-names.ts";
import type { Part, StepBook } from "../steps/step-book.ts";
import type { InterfaceSteps } from "./interface-steps.ts";

/** The steps of the fixed part of samples, and of what holds for each sample. */
export function createFlowSampleSteps(book: StepBook, counters: CounterNames, indexes: InterfaceSteps["indexes"]) {
  const number = (name: string) => book.field(name, "number");
  const sequence = number("flow.sample.sequence");
  const sourceType = number("flow.sample.source.type.id");
  const sourceIndex = number("flow.sample.source.index");
  const pool = number("flow.sample.pool");
  const drops = number("flow.sample.drops");
  const compact: readonly Part[] = [
    [sequence, 0, "uint32"],
    [sourceType, 4, "uint8"],
    [sourceIndex, 5, "uint24"],
    [pool, 12, "uint32"],
    [drops, 16, "uint32"],
  ];
  const expanded: readonly Part[] = [
    [sequence, 0, "uint32"],
    [sourceType, 4, "uint32"],
    [sourceIndex, 8, "uint32"],
    [pool, 16, "uint32"],
    [drops, 20, "uint32"],
  ];
  return {
    compact: book.block(compact),
    expanded: book.block(expanded),
    /** With both interfaces, where these are indexes. */
    compactWhole: book.block([...compact, [indexes.in, 20, "uint32"], [indexes.out, 24, "uint32"]]),
    expandedWhole: book.block([...expanded, [indexes.in, 28, "uint32"], [indexes.out, 36, "uint32"]]),
    discarded: book.block([
      [book.fixed([["flow.record.type", "discard"]]), 0, "place"],
      [sequence, 0, "uint32"],
      [sourceType, 4, "uint32"],
      [sourceIndex, 8, "uint32"],
      [drops, 12, "uint32"],
    ]),
    packets: number(counters.packets.exported),
    frame: book.field(counters.bytes.exported, "number", [[bytesLayer, "l2"]]),
    packet: book.field(counters.bytes.exported, "number", [[bytesLayer, "l3"]]),
    headerProtocol: number("flow.sample.header.protocol.id"),
  };
}
