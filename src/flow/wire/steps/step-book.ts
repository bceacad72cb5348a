import {
  fieldStart,
  renderFields,
  renderValue,
  type RecordFields,
  type Value,
  type Workspace,
} from "../../../record/index.ts";
import { createProgramWriter, type Operation } from "../../kernel/program-writer.ts";
import { endMark } from "../../kernel/program-writer.ts";
import * as layout from "../../kernel/layout.gen.ts";
import { readPart, readStepValue, unknown32, type ByteSource, type PartRead, type StepKind } from "./steps.ts";

/**
 * One piece of a record: a field, or a few that follow from one number. A sample has a list of them, each with a number or with the
 * place of its value: the kernel makes a line of the list, {@link Step.put} makes fields of it.
 */
export interface Step {
  /** Where the kernel finds it. A step that does the same may have this place, too. */
  readonly place: number;
  /** Bytes in a line; for lists and texts those of the values come on top. */
  readonly maxLength: number;
  /** As the kernel has it. */
  readonly program: Buffer;
  readonly put: (record: RecordFields, value: number, source: ByteSource) => void;
  /** Of the fields that it may make. */
  readonly names: readonly string[];
  /** Of a block. */
  readonly parts?: readonly Part[];
}

type Fields = readonly (readonly [name: string, value: Value | undefined])[];

type EntryFields = (number: number) => Fields;

/** Defines steps. */
export interface StepBook {
  /** A field whose value is of a kind. @param before fields that are always the same before it. */
  field(name: string, kind: StepKind, before?: Fields): Step;
  /** Fields that are always the same. @param name of the one whose number others of the line follow from; it goes with the step. */
  fixed(fields: Fields, name?: string): Step;
  /** Several steps as one: their values lie together, so the place where they begin is enough. */
  block(parts: readonly Part[]): Step;
  /**
   * Fields that follow from a number below `size`; those undefined are left out.
   *
   * @param fieldsOf always says the same; the very same function spares its texts being made again.
   * @param names of what others of the line follow from: the number itself, and the number without its lower two bits.
   */
  entry(size: number, fieldsOf: EntryFields, names?: EntryNames): Step;
  /** Fields that are given as they are, and arrays of bytes in hex; only lists make use of them. */
  readonly given: Step;
  readonly hexes: Step;
  find(place: number): Step;
}

/** A step of a block: how many bytes behind the place of the block its value is, and how it is read. */
export type Part = readonly [step: Step, offset: number, read: PartRead];

/** How the kernel writes a number, and an entry, that is read so. */
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

export interface EntryNames {
  readonly number?: string;
  readonly upper?: string;
}

/** What a step needs in memory that the kernel reads. */
export interface StepMemory {
  readonly workspace: Workspace;
  /** Where the kernel keeps values that others of a line follow from, by the names of their fields. */
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

/** @param memory undefined: steps only make fields. */
export function createStepBook(memory: StepMemory | undefined): StepBook {
  const steps = new Map<number, Step>();
  let end: number = layout.steps;

  /** By content: packets in samples and packets in templates have the same steps. */
  const places = new Map<string, number>();

  const place = (bytes: Uint8Array): number => {
    const at = end;
    if (memory === undefined) {
      end += 1;
      return at;
    }
    const key = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("latin1");
    const known = places.get(key);
    if (known !== undefined) return known;
    places.set(key, at);
    end += Math.ceil((bytes.length + 16) / 16) * 16;
    if (end > layout.stepsEnd) throw new RangeError("the memory for steps is full");
    memory.workspace.bytes.set(bytes, at);
    return at;
  };
  const slotOf = (name: string | undefined): number =>
    (name === undefined ? undefined : memory?.slots.get(name)) ?? layout.unusedSlot;

  const addProgram = (program: Buffer, of: Omit<Step, "place" | "program">): Step => {
    const step = { place: place(program), program, ...of };
    steps.set(step.place, step);
    return step;
  };
  const add = (
    text: string,
    operation: Operation,
    { names, maxValue, put }: Pick<Step, "names" | "put"> & { readonly maxValue: number },
  ): Step => {
    const writer = createProgramWriter(false);
    const { mark, name } = endMark(operation, text);
    writer.text(text);
    writer.operation(mark === 0 ? operation : { ...operation, length: operation.length ?? name });
    const program = writer.bytes();
    program.writeUInt16LE(0, layout.operationSize);
    program[layout.stepMark] = mark;
    return addProgram(program, { maxLength: Buffer.byteLength(text) + maxValue, put, names });
  };

  const given = add("", { code: layout.stepGiven }, { names: [], maxValue: 0, put() {} });
  const hexes = add("", { code: layout.stepHexes }, { names: [], maxValue: 0, put() {} });
  return {
    given,
    hexes,
    find(at) {
      const step = steps.get(at);
      if (step === undefined) throw new RangeError(`no step at ${at}`);
      return step;
    },
    field(name, kind, before = []) {
      const [code, maxLength, opening] = codes[kind];
      const operation = { code, slot: slotOf(name), argument: variants[kind] ?? 0, field: name };
      const read = readStepValue[kind];
      const known = present(before);
      return add(`${renderFields(known).toString()},${JSON.stringify(name)}:${opening}`, operation, {
        names: [...known.map(([each]) => each), name],
        maxValue: maxLength,
        put(record, value, source) {
          for (const [each, fixed] of known) record.set(each, fixed);
          record.set(name, read(value, source));
        },
      });
    },
    fixed(fields, name) {
      const known = present(fields);
      return add(
        renderFields(known).toString(),
        { code: layout.stepFixed, slot: slotOf(name) },
        {
          names: known.map(([each]) => each),
          maxValue: 0,
          put(record) {
            for (const [each, value] of known) record.set(each, value);
          },
        },
      );
    },
    block(parts) {
      const programs = parts.map(([{ program }, offset, read], i) => {
        const part = Buffer.from(program);
        part.writeUInt16LE(offset, layout.operationPlace);
        part[layout.operationCode] = partCode(program[layout.operationCode] as number, read);
        part.writeUInt16LE(i === parts.length - 1 ? 0 : part.length, layout.operationSize);
        return part;
      });
      const maxLength = parts.reduce((sum, [step]) => sum + step.maxLength, 0);
      return addProgram(Buffer.concat(programs), {
        parts,
        names: parts.flatMap(([{ names }]) => names),
        maxLength,
        put(record, at, source) {
          for (const [step, offset, read] of parts) {
            const value = readPart[read](source.view, at + offset);
            if (read !== "known32" || value !== unknown32) step.put(record, value, source);
          }
        },
      });
    },
    entry(size, fieldsOf, { number, upper } = {}) {
      const { bytes, lengths, names } = entryTexts(size, fieldsOf);
      const table = Buffer.alloc(8 * size);
      let at = place(bytes);
      lengths.forEach((length, i) => {
        table.writeUInt32LE(at, 8 * i);
        table.writeUInt32LE(length, 8 * i + 4);
        at += length;
      });
      const operation = {
        code: layout.stepEntry,
        slot: slotOf(number),
        length: slotOf(upper),
        argument: place(table),
        fields: [...names],
      };
      return add("", operation, {
        names: [...names],
        maxValue: Math.max(0, ...lengths),
        put(record, value) {
          if (value >= size) return;
          for (const [name, own] of fieldsOf(value)) if (own !== undefined) record.set(name, own);
        },
      });
    },
  };
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
