import type { Part, Step, InstructionTable } from "../steps/instruction-table.ts";
import type { StepList } from "../steps/steps.ts";
import { unknown32, type ByteSource, type PartRead } from "../steps/steps.ts";
import { padded, type FlowType, type StructureOutcome, type XdrLayout } from "./xdr-reader.ts";

/** Makes steps of a structure. */
export interface StructureSteps {
  /**
   * Adds the fields of a structure, as far as they go.
   *
   * @param skipped how many numbers at its beginning are left out.
   * @returns how it went: `whole`, `more` behind the last field, `cut` within one.
   */
  add(list: StepList, source: ByteSource, at: number, end: number, skipped: number): StructureOutcome;
  /** The kernel lists such structures by itself. */
  readonly wholes: readonly Whole[];
}

/** A structure whose fields are always at the same offsets, as one step. */
export interface Whole {
  readonly step: Step;
  /** All but its first field; undefined where nobody asks for that. */
  readonly rest: Step | undefined;
  readonly length: number;
  /** The value that its first 32 bits must have; undefined: anything. */
  readonly start: number | undefined;
}

interface Field {
  readonly name: string;
  readonly type: FlowType;
  readonly step: Step;
  /** For an address, which may be of either family. */
  readonly step6: Step;
}

/** More than an entry of a list takes in a line. */
const maxEntry = 8;
/** `\u00xx` */
const maxPerTextByte = 6;

/** Makes steps of a structure that is a row of fields. */
export class RowSteps implements StructureSteps {
  readonly wholes: readonly Whole[];
  readonly #fields: readonly Field[];

  /** @param hasRest whether its first field may be left out. */
  constructor(instructions: InstructionTable, layout: XdrLayout<FlowType>, hasRest: boolean) {
    this.#fields = fieldsOf(instructions, layout);
    this.wholes = wholesOf(instructions, this.#fields, hasRest);
  }

  add(list: StepList, source: ByteSource, at: number, end: number, skipped: number): StructureOutcome {
    const { wholes } = this;
    const fields = this.#fields;
    for (let i = 0; i < wholes.length; i++) {
      const { step, rest, length, start } = wholes[i] as Whole;
      const used = skipped === 0 ? step : rest;
      if (used === undefined || end - at !== length) continue;
      if (start !== undefined && source.view.getUint32(at) !== start) continue;
      list.add(used, at);
      return "whole";
    }
    let position = at + 4 * skipped;
    for (let i = skipped; i < fields.length; i++) {
      // An older version of it may end early.
      if (position === end && i > 0) return "whole";
      position = addField(list, fields[i] as Field, source, position, end);
      if (position < 0) return "cut";
    }
    return position === end ? "whole" : "more";
  }
}

const partReads: Readonly<Partial<Record<FlowType, PartRead>>> = {
  uint32: "uint32",
  count32: "known32",
  uint64: "place",
  mac: "place",
  ipv4: "place",
  ipv6: "place",
};

/** Returns the steps of a row of fields of fixed lengths; the first may be an address, of either family. None where there are others. */
function wholesOf(instructions: InstructionTable, fields: readonly Field[], hasRest: boolean): Whole[] {
  if (fields[0]?.type !== "address") return wholeOf(instructions, fields, hasRest, undefined) ?? [];
  return [4, 6].flatMap((family) => wholeOf(instructions, fields, hasRest, family) ?? []);
}

/** The length of the type that comes before an address. */
const familyBytes = 4;

/** @param family of the address at the beginning, if there is one. */
function wholeOf(
  instructions: InstructionTable,
  fields: readonly Field[],
  hasRest: boolean,
  family: number | undefined,
): [Whole] | undefined {
  const parts: Part[] = [];
  let length = 0;
  for (let i = 0; i < fields.length; i++) {
    const { type, step, step6 } = fields[i] as Field;
    if (i === 0 && family !== undefined) {
      parts.push([family === 4 ? step : step6, familyBytes, "place"]);
      length += familyBytes + (family === 4 ? 4 : 16);
      continue;
    }
    const read = partReads[type];
    if (read === undefined) return undefined;
    parts.push([step, length, read]);
    length += widths[type];
  }
  const rest = hasRest ? instructions.block(parts.slice(1)) : undefined;
  const start = family === undefined ? undefined : family === 4 ? 1 : 2;
  return [{ step: instructions.block(parts), rest, length, start }];
}

function fieldsOf(instructions: InstructionTable, layout: XdrLayout<FlowType>): Field[] {
  return layout.map(([name, type]) => {
    if (type === "address") {
      return { name, type, step: instructions.field(name, "ipv4"), step6: instructions.field(name, "ipv6") };
    }
    const step = instructions.field(name, type === "uint32" || type === "count32" ? "number" : type);
    return { name, type, step, step6: step };
  });
}

const widths: Readonly<Record<FlowType, number>> = {
  uint32: 4,
  count32: 4,
  uint64: 8,
  mac: 8,
  ipv4: 4,
  ipv6: 16,
  address: 4,
  text: 4,
  labels: 4,
  tags: 4,
};

/** @returns where the field ends; -1 when that would be behind `end`. */
function addField(list: StepList, field: Field, source: ByteSource, at: number, end: number): number {
  const { type, step } = field;
  const width = widths[type];
  if (end - at < width) return -1;
  switch (type) {
    case "uint32":
      list.add(step, source.view.getUint32(at));
      return at + 4;
    case "count32": {
      const value = source.view.getUint32(at);
      if (value !== unknown32) list.add(step, value);
      return at + 4;
    }
    case "address":
      return addAddress(list, step, field.step6, source, at, end);
    case "text":
      return addText(list, step, source, at, end);
    case "labels":
    case "tags": {
      const count = source.view.getUint32(at);
      if (count > (end - at - 4) >>> 2) return -1;
      list.addLong(step, at, maxEntry * count);
      return at + 4 + 4 * count;
    }
    case "uint64":
    case "mac":
    case "ipv4":
    case "ipv6":
      break;
  }
  list.add(step, at);
  return at + width;
}

/**
 * Adds an address behind its type: 1 is IPv4, 2 IPv6, 0 none; the length of any other is not known.
 *
 * @returns as {@link addField}.
 */
export function addAddress(
  list: StepList,
  step4: Step,
  step6: Step,
  { view }: ByteSource,
  at: number,
  end: number,
): number {
  if (end - at < 4) return -1;
  const family = view.getUint32(at);
  if (family === 0) return at + 4;
  const length = family === 1 ? 4 : 16;
  if (family > 2 || end - at - 4 < length) return -1;
  list.add(family === 1 ? step4 : step6, at + 4);
  return at + 4 + length;
}

function addText(list: StepList, step: Step, { view }: ByteSource, at: number, end: number): number {
  const length = view.getUint32(at);
  const start = at + 4;
  if (length > end - start) return -1;
  list.addLong(step, at, maxPerTextByte * length);
  // The bytes that fill it up may be missing at the very end.
  return Math.min(end, start + padded(length));
}
