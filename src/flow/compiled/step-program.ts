import type { LineEnricher } from "../../record/index.ts";
import type { Convert } from "../mapping/field-source.ts";
import type { Output, Plan, Step } from "../template/plan.ts";
import { variableLength } from "../template/template.ts";
import { kept, type Keep, type KeepKind } from "./kept-values.ts";
import type { ByteTable } from "./byte-table.ts";
import { byteGroup, isNever, isStatic } from "./record-code.ts";
import { isCodePoint, valueKind } from "./value-kind.ts";
import { paddedView } from "./write-values.ts";

/** The steps of a plan as numbers, which one function for all plans runs. */
export interface StepProgram {
  /** {@link operationWords} for each operation; what they mean is said at {@link operations}. */
  readonly operations: Int32Array;
  /** The names of the fields as they stand in a line, one behind the other. */
  readonly names: DataView;
  /** By position: what bytes are looked up in. */
  readonly tables: readonly ByteTable[];
}

export interface StepProgramOptions {
  readonly enricher: LineEnricher;
  /** What is kept of each field, by name. */
  readonly keeps: ReadonlyMap<string, readonly Keep[]>;
  /** What steps make of one byte. */
  readonly byteTable: (steps: readonly Step[]) => ByteTable;
}

/**
 * An operation is its number, the place of a field, its length, where its name begins in the program's names, the name's
 * length, an argument, and where its value is kept. A place is an offset within records, or the number of the field where plans have variable
 * lengths.
 */
export const operationWords = 7;

/** Most names take no more: so much is copied without a look at the length, and may be read behind the last name. */
export const nameChunk = 24;

export const operations = {
  /** Writes name and value of a field that always has one; icmpType and icmpCode are `byte`, the argument is added to the place. */
  byte: 0,
  word: 1,
  long: 2,
  ipv4: 3,
  ipv6: 4,
  mac: 5,
  hex: 6,
  applicationId: 7,
  /** Writes those that some bytes do not have; the argument is the step for the interpreter. */
  text: 8,
  seconds: 9,
  milliseconds: 10,
  uptime: 11,
  /** Lets the interpreter do the step. */
  interpret: 12,
  /** Writes what a byte is in the table of the argument. */
  table: 13,
  /** Keeps once more, at the place, the number, the number's upper six bits, the place of the address, or that there is something. */
  keepNumber: 14,
  keepCodePoint: 15,
  keepAddress: 16,
  keepPresence: 17,
  /** A contest: nobody has won; the field wins if nobody has and not all its bytes are zero; the first wins if nobody has. */
  contest: 18,
  claim: 19,
  decide: 20,
  /** Goes on at the operation that the place says, unless the argument has won. */
  unlessWinner: 21,
  goTo: 22,
} as const;

export type Operation = (typeof operations)[keyof typeof operations];

/** From this one on nothing is written. */
export const firstControl = operations.keepNumber;
export type Control = (typeof operations)[
  | "keepNumber"
  | "keepCodePoint"
  | "keepAddress"
  | "keepPresence"
  | "contest"
  | "claim"
  | "decide"
  | "unlessWinner"
  | "goTo"];

/** Operations that keep their own value, and as what. */
const keepsItself: ReadonlyMap<number, KeepKind> = new Map([
  [operations.byte, "number"],
  [operations.word, "number"],
  [operations.long, "number"],
  [operations.table, "number"],
  [operations.ipv4, "address"],
  [operations.ipv6, "address"],
]);

/** @returns undefined for a plan that {@link recordCode} leaves to the interpreter, too. */
export function stepProgram(plan: Plan, { enricher, keeps, byteTable }: StepProgramOptions): StepProgram | undefined {
  const { steps } = plan;
  const added = new Set(enricher.numbers.map(({ adds }) => adds));
  const isAdded = ({ name, fallback }: Output): boolean =>
    added.has(name) || (fallback !== undefined && (added.has(fallback.name) || added.has(fallback.hexName)));
  if (steps.some(({ outputs }) => outputs.some(isAdded))) return undefined;

  const tables: ByteTable[] = [];
  const offsets: number[] = [];
  let offset = 0;
  for (const length of plan.lengths) {
    offsets.push(offset);
    offset += length;
  }
  const words: number[] = [];
  let names = "";
  let namesLength = 0;

  const add = (operation: number, place = 0, length = 0, argument = 0, name = ""): void => {
    const nameLength = Buffer.byteLength(name);
    words.push(operation, place, length, namesLength, nameLength, argument, kept.spare);
    names += name;
    namesLength += nameLength;
  };
  const placeOf = (field: number): number => (plan.hasVariableLength ? field : (offsets[field] as number));
  /** Keeps the value of the operation before. */
  const keep = (name: string): void => {
    for (const { kind, place } of keeps.get(name) ?? []) {
      const operation = words.at(-operationWords) as number;
      const isFree = words.at(-1) === kept.spare && keepsItself.get(operation) === kind;
      if (isFree) words[words.length - 1] = place;
      else if (kind === "number") add(operations.keepNumber, place);
      else add(kind === "address" ? operations.keepAddress : operations.keepPresence, place);
    }
  };
  /** The value of a field that always has one. */
  const put = (field: number, name: string, convert: Convert, isKept: boolean): void => {
    const length = plan.lengths[field] as number;
    if (length === 0) return;
    const label = `,${JSON.stringify(name)}:`;
    const kind = valueKind(convert);
    const place = placeOf(field);
    if (kind === "icmpType" || kind === "icmpCode") {
      add(operations.byte, place, 1, kind === "icmpType" ? 0 : 1, label);
    } else if (kind === "unsigned") {
      add(length === 1 ? operations.byte : length <= 4 ? operations.word : operations.long, place, length, 0, label);
    } else if (kind === "applicationId") {
      add(operations.applicationId, place, length, 0, `${label}"`);
      return;
    } else if (kind === "ipv4" || kind === "ipv6" || kind === "mac" || kind === "hex") {
      add(operations[kind], place, length, 0, `${label}"`);
    } else throw new TypeError(`not every field of the kind ${kind} has a value`);
    if (isKept) keep(name);
  };
  const contest = (outputs: Step["outputs"]): void => {
    add(operations.contest);
    outputs.forEach(({ field }, i) => add(operations.claim, placeOf(field), plan.lengths[field], i));
    add(operations.decide);
    outputs.forEach(({ field, name, convert, fallback }, i) => {
      const unless = words.length;
      add(operations.unlessWinner, 0, 0, i);
      put(field, name, convert, true);
      const over = words.length;
      if (fallback !== undefined) add(operations.goTo);
      words[unless + 1] = words.length;
      if (fallback === undefined) return;
      put(field, fallback.name, fallback.convert, false);
      words[over + 1] = words.length;
    });
  };
  /** The value of a field that some bytes do not have. Returns whether there is an operation for it. */
  const putPartial = ({ field, name, convert }: Output, step: number): boolean => {
    const kind = valueKind(convert);
    const length = plan.lengths[field] as number;
    const label = `,${JSON.stringify(name)}:`;
    if (kind === "text") {
      add(operations.text, placeOf(field), length, step, `${label}"`);
      return true;
    }
    if (length === variableLength || length === 0 || length > 8) return false;
    const isTime = kind === "seconds" || kind === "milliseconds" || (kind === "uptime" && length <= 4);
    if (isTime) add(operations[kind], placeOf(field), length, step, label);
    return isTime;
  };
  const group = (together: readonly [Step, ...Step[]]): void => {
    add(operations.table, placeOf(together[0].outputs[0].field), 1, tables.push(byteTable(together)) - 1);
    for (const { outputs } of together) {
      const [{ name, convert }] = outputs;
      if (!isCodePoint(convert)) keep(name);
      else for (const { place } of keeps.get(name) ?? []) add(operations.keepCodePoint, place);
    }
  };

  for (let i = 0; i < steps.length;) {
    const [first, ...more] = byteGroup(plan, steps, i, keeps);
    if (first !== undefined) {
      group([first, ...more]);
      i += 1 + more.length;
      continue;
    }
    const { kind, outputs } = steps[i] as Step;
    const [output] = outputs;
    if (kind === "contest" && outputs.every((each) => isStatic(plan, each))) contest(outputs);
    else if (kind === "field" && isStatic(plan, output)) put(output.field, output.name, output.convert, true);
    else {
      const isNothing = kind === "field" && isNever(plan, output);
      if (!isNothing && outputs.some(({ name }) => keeps.has(name))) return undefined;
      if (kind !== "field" || isNothing || !putPartial(output, i)) add(operations.interpret, 0, 0, i);
    }
    i++;
  }
  return {
    tables,
    operations: Int32Array.from(words),
    names: paddedView(Buffer.concat([Buffer.from(names), Buffer.alloc(nameChunk)])),
  };
}
