import {
  fieldStart,
  renderFields,
  renderValue,
  type RecordFields,
  type Value,
  type Workspace,
} from "../../../record/index.ts";
import { endMark, ProgramWriter, type Operation } from "../../kernel/program-writer.ts";
import * as layout from "../../kernel/layout.gen.ts";
import { readPart, readStepValue, unknown32, type ByteSource, type PartRead, type StepKind } from "./steps.ts";

/**
 * One part of a record: a field, or a few that follow from one number. A sample has a list of them, each with a number or with the
 * offset of its value: the kernel makes a line of the list, {@link Step.put} makes fields of it.
 */
export interface Step {
  /** The offset at which the kernel finds it. A step that does the same may have this offset, too. */
  readonly place: number;
  /** Bytes in a line; for lists and texts those of the values come on top. */
  readonly maxLength: number;
  /** As the kernel has it. */
  readonly program: Buffer;
  readonly put: (record: RecordFields, value: number, source: ByteSource) => void;
  /** The names of the fields that it may make. */
  readonly names: readonly string[];
  /** The parts of a block. */
  readonly parts?: readonly Part[];
}

type Fields = readonly (readonly [name: string, value: Value | undefined])[];

type EntryFields = (number: number) => Fields;

/** A step of a block: how many bytes behind the offset of the block its value is, and how it is read. */
export type Part = readonly [step: Step, offset: number, read: PartRead];

/** The codes by which the kernel writes a number, and an entry, that is read so. */
const numberCodes: Readonly<Partial<Record<PartRead, number>>> = {
  uint8: layout.stepUint8,
  uint16: layout.stepUint16,
  uint24: layout.stepUint24,
  uint32: layout.stepUint32,
  known32: layout.stepKnown32,
  vlan: layout.stepVlan,
  priority: layout.stepPriority,
};
const entryCodes: Readonly<Partial<Record<PartRead, number>>> = {
  uint8: layout.stepEntry8,
  flags: layout.stepEntryOfFlags,
};

/** The code of a step as a part of a block. */
function partCode(code: number, read: PartRead): number {
  const codesOf = code === layout.stepNumber ? numberCodes : code === layout.stepEntry ? entryCodes : undefined;
  const partOf = codesOf === undefined && read === "place" ? code : codesOf?.[read];
  if (partOf === undefined) throw new TypeError(`no part of a block is read as ${read} for the code ${code}`);
  return partOf;
}

/** The memory that a step needs and the kernel reads. */
interface StepMemory {
  readonly workspace: Workspace;
  /** The slots in which the kernel keeps values that others of a line follow from, by the names of their fields. */
  readonly slots: ReadonlyMap<string, number>;
}

const codes: Readonly<Record<StepKind, readonly [code: number, maxLength: number, opening: string]>> = {
  number: [layout.stepNumber, 10, ""],
  asLabel: [layout.stepQuoted, 13, `"AS`],
  uint64: [layout.stepUint64, 20, ""],
  ipv4: [layout.stepIpv4, 16, `"`],
  ipv6: [layout.stepIpv6, 42, `"`],
  mac: [layout.stepMac, 20, `"`],
  text: [layout.stepText, 2, `"`],
  labels: [layout.stepNumbers, 2, "["],
  tags: [layout.stepNumbers, 2, "["],
  communities: [layout.stepNumbers, 2, "["],
  path: [layout.stepPath, 2, `"`],
  stackLabels: [layout.stepStack, 2 + 33 * 8, "["],
  stackExperimental: [layout.stepStack, 2 + 33 * 2, "["],
};
const variants: Readonly<Partial<Record<StepKind, number>>> = {
  labels: layout.listOfLabels,
  tags: layout.listOfTags,
  communities: layout.listOfCommunities,
  stackLabels: layout.stackOfLabels,
  stackExperimental: layout.stackOfExperimental,
};

/** Defines steps: the instruction table of the kernel. */
export class InstructionTable {
  /** Fields that are given as they are, and arrays of bytes in hex; only lists make use of them. */
  readonly given: Step;
  readonly hexes: Step;
  readonly #memory: StepMemory | undefined;
  readonly #steps = new Map<number, Step>();
  /** By content: packets in samples and packets in templates have the same steps. */
  readonly #places = new Map<string, number>();
  #end: number = layout.steps;

  /** @param memory undefined: steps only make fields. */
  constructor(memory: StepMemory | undefined) {
    this.#memory = memory;
    this.given = this.#add("", { code: layout.stepGiven }, [], 0, () => {});
    this.hexes = this.#add("", { code: layout.stepHexes }, [], 0, () => {});
  }

  find(place: number): Step {
    const step = this.#steps.get(place);
    if (step === undefined) throw new RangeError(`no step at ${place}`);
    return step;
  }

  /** A field whose value is of a kind. @param before fields that are always the same before it. */
  field(name: string, kind: StepKind, before: Fields = []): Step {
    const [code, maxLength, opening] = codes[kind];
    const operation = { code, slot: this.#slotOf(name), argument: variants[kind] ?? 0, field: name };
    const read = readStepValue[kind];
    const known = present(before);
    const text = `${renderFields(known).toString()},${JSON.stringify(name)}:${opening}`;
    return this.#add(text, operation, [...known.map(([each]) => each), name], maxLength, (record, value, source) => {
      for (const [each, fixed] of known) record.set(each, fixed);
      record.set(name, read(value, source));
    });
  }

  /** Fields that are always the same. @param name of the one whose number others of the line follow from; it goes with the step. */
  fixed(fields: Fields, name?: string): Step {
    const known = present(fields);
    const names = known.map(([each]) => each);
    const operation = { code: layout.stepFixed, slot: this.#slotOf(name) };
    return this.#add(renderFields(known).toString(), operation, names, 0, (record) => {
      for (const [each, value] of known) record.set(each, value);
    });
  }

  /** Several steps as one: their values lie together, so the offset where they begin is enough. */
  block(parts: readonly Part[]): Step {
    const programs = parts.map(([{ program }, offset, read], i) => {
      const part = Buffer.from(program);
      part.writeUInt16LE(offset, layout.operationPlace);
      part[layout.operationCode] = partCode(program[layout.operationCode] as number, read);
      part.writeUInt16LE(i === parts.length - 1 ? 0 : part.length, layout.operationSize);
      return part;
    });
    return this.#addProgram(Buffer.concat(programs), {
      parts,
      names: parts.flatMap(([{ names }]) => names),
      maxLength: parts.reduce((sum, [step]) => sum + step.maxLength, 0),
      put(record, at, source) {
        for (const [step, offset, read] of parts) {
          const value = readPart[read](source.view, at + offset);
          if (read !== "known32" || value !== unknown32) step.put(record, value, source);
        }
      },
    });
  }

  /**
   * Fields that follow from a number below `size`; those undefined are left out.
   *
   * @param fieldsOf always says the same; the very same function spares its texts being made again.
   * @param numberName of what others of the line follow from: the number itself.
   * @param upperName the same for the number without its lower two bits.
   */
  entry(size: number, fieldsOf: EntryFields, numberName?: string, upperName?: string): Step {
    const { bytes, lengths, names } = entryTexts(size, fieldsOf);
    const table = Buffer.alloc(8 * size);
    let at = this.#place(bytes);
    lengths.forEach((length, i) => {
      table.writeUInt32LE(at, 8 * i);
      table.writeUInt32LE(length, 8 * i + 4);
      at += length;
    });
    const operation = {
      code: layout.stepEntry,
      slot: this.#slotOf(numberName),
      length: this.#slotOf(upperName),
      argument: this.#place(table),
      fields: [...names],
    };
    return this.#add("", operation, [...names], Math.max(0, ...lengths), (record, value) => {
      if (value >= size) return;
      for (const [name, own] of fieldsOf(value)) if (own !== undefined) record.set(name, own);
    });
  }

  #place(bytes: Uint8Array): number {
    const at = this.#end;
    if (this.#memory === undefined) {
      this.#end += 1;
      return at;
    }
    const key = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("latin1");
    const known = this.#places.get(key);
    if (known !== undefined) return known;
    this.#places.set(key, at);
    this.#end += Math.ceil((bytes.length + 16) / 16) * 16;
    if (this.#end > layout.stepsEnd) throw new RangeError("the memory for steps is full");
    this.#memory.workspace.bytes.set(bytes, at);
    return at;
  }

  #slotOf(name: string | undefined): number {
    return (name === undefined ? undefined : this.#memory?.slots.get(name)) ?? layout.unusedSlot;
  }

  #addProgram(program: Buffer, of: Omit<Step, "place" | "program">): Step {
    const step = { place: this.#place(program), program, ...of };
    this.#steps.set(step.place, step);
    return step;
  }

  #add(text: string, operation: Operation, names: readonly string[], maxValue: number, put: Step["put"]): Step {
    const writer = new ProgramWriter(false);
    const { mark, name } = endMark(operation, text);
    writer.text(text);
    writer.operation(mark === 0 ? operation : { ...operation, length: operation.length ?? name });
    const program = writer.bytes();
    program.writeUInt16LE(0, layout.operationSize);
    program[layout.stepMark] = mark;
    return this.#addProgram(program, { maxLength: Buffer.byteLength(text) + maxValue, put, names });
  }
}

interface EntryTexts {
  /** One behind the other. */
  readonly bytes: Uint8Array;
  readonly lengths: readonly number[];
  readonly names: ReadonlySet<string>;
}

/** There are thousands of entries, and books of a thread have the same. */
const knownTexts = new WeakMap<EntryFields, EntryTexts>();

function entryTexts(size: number, fieldsOf: EntryFields): EntryTexts {
  let texts = knownTexts.get(fieldsOf);
  if (texts?.lengths.length !== size) knownTexts.set(fieldsOf, (texts = renderEntries(size, fieldsOf)));
  return texts;
}

/** A name is quoted once. */
function renderEntries(size: number, fieldsOf: EntryFields): EntryTexts {
  const quoted = new Map<string, string>();
  const texts: string[] = [];
  for (let number = 0; number < size; number++) {
    let text = "";
    for (const [name, value] of fieldsOf(number)) {
      if (value === undefined) continue;
      let start = quoted.get(name);
      if (start === undefined) quoted.set(name, (start = fieldStart(name)));
      text += start + renderValue(value);
    }
    texts.push(text);
  }
  return {
    bytes: Buffer.from(texts.join("")),
    lengths: texts.map((text) => Buffer.byteLength(text)),
    names: new Set(quoted.keys()),
  };
}

function present(fields: Fields): [string, Value][] {
  return fields.flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as [string, Value]]));
}
