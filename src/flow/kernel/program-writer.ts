import * as layout from "./layout.gen.ts";

/** The rules by which a client is found, in their order; the number of each in the layout is one more than its position. */
export const roleMethods = [
  "biflow_direction",
  "initiator",
  "event",
  "tcp_syn",
  "icmp_type",
  "learnt",
  "port",
] as const;
export type RoleMethod = (typeof roleMethods)[number];

/** Fields that are there of source and destination, and of both together; the number of each is one more than its position. */
export const joinedFields = [
  "as.label",
  "geo.city.name",
  "geo.country.name",
  "ip.subnet.tags",
  "sec.threat.name",
] as const;
export type JoinedField = (typeof joinedFields)[number];

/** The values that an operation writes of the ends of a flow. */
interface EndMark {
  readonly mark: number;
  /** Bytes from where the name goes on behind `flow.src.` to the end of the text. */
  readonly name: number;
}

const ends: Readonly<Record<string, number>> = { src: layout.markSource, dst: layout.markDestination };
const nameOfEnd = /^flow\.(src|dst)\.([^"\\]*)$/;
const nothing: EndMark = { mark: 0, name: 0 };
const maxName = 255;

/** Says which field of an end an operation writes, so that nobody has to look for it in the line. @param text before it. */
export function endMark(
  { field = "", isOpen = false, fields = [] }: Pick<Operation, MarkedKeys>,
  text: string,
): EndMark {
  const begins = [...text.matchAll(/,"flow\.(?:src|dst)\./g)];
  if (fields.some((name) => nameOfEnd.test(name))) {
    return { mark: begins.length === 0 ? layout.markChunk : layout.markLine, name: 0 };
  }
  const [first] = begins;
  if (first === undefined) return nothing;
  const [, end = "", rest = ""] = nameOfEnd.exec(field) ?? [];
  const [begin] = first;
  const isLast = begins.length === 1 && text.startsWith(`,${JSON.stringify(field)}:`, first.index);
  const name = Buffer.byteLength(text.slice(first.index + begin.length));
  if (end === "" || !isLast || name > maxName) return { mark: layout.markLine, name: 0 };
  const join = joinedFields.findIndex((each) => each === rest) + 1;
  return { mark: (ends[end] as number) | (isOpen ? layout.markOpen : 0) | (join << layout.markJoinShift), name };
}

type MarkedKeys = "field" | "isOpen" | "fields";

/** One operation of a program, as {@link layout} has it. */
export interface Operation {
  readonly code: number;
  /** The slot that keeps the value. */
  readonly slot?: number;
  /** The offset of the field in the record, or its position in the template. */
  readonly place?: number;
  readonly delta?: number;
  readonly length?: number;
  readonly argument?: number;
  /** Bytes that follow the text. */
  readonly tail?: Buffer;
  /** The name that the text before it ends with, where the operation writes the whole value of that field. */
  readonly field?: string;
  /** True if the quote behind that value is the next operation's. */
  readonly isOpen?: boolean;
  /** Names of whole fields that it writes. */
  readonly fields?: readonly string[];
}

/** Longer texts are written by several operations. */
const maxText = 4096;
const alignment = 16;
const firstBytes = 256;

/** A program under construction: operations, and text of a line that is not part of one yet. */
export class ProgramWriter {
  readonly #hasEnds: boolean;
  #bytes = Buffer.alloc(firstBytes);
  #end = 0;
  #pending = "";
  /** The number of conditions for what is added. */
  #conditions = 0;
  #isSteady = true;

  /** @param hasEnds whether what is written of the ends is noted, because more follows from it. */
  constructor(hasEnds: boolean) {
    this.#hasEnds = hasEnds;
  }

  /** True if the operations keep values in the same slots whatever the record is. */
  get isSteady(): boolean {
    return this.#isSteady;
  }

  operation(operation: Operation): void {
    this.#addPending(operation);
  }

  /** Adds text of the line. Neighbouring texts become one. */
  text(text: string): void {
    this.#pending += text;
  }

  /** Adds operations that are done only where a register has a value, or only where it has another one. */
  when(register: number, is: "equal" | "other", value: number, block: () => void): void {
    const code = is === "equal" ? layout.opUnless : layout.opIf;
    const from = this.#end;
    const text = this.#pending;
    const jump = this.#addPending({ code, delta: register, length: value });
    const begin = this.#end;
    this.#behind(jump, block);
    // Nothing is done either way.
    if (this.#end === begin) this.#takeBack(from, text);
  }

  /**
   * Adds an operation that goes on behind `otherwise`, at `succeeded`, when it has a value. Neither its `delta` nor text before it may be
   * anything else's.
   */
  attempt(operation: Operation, succeeded: () => void, otherwise: () => void): void {
    const at = this.#addPending(operation);
    const from = this.#end;
    this.#conditionally(otherwise);
    const unskipped = this.#end;
    const skip = this.#addPending({ code: layout.opSkip });
    const begin = this.#end;
    this.#behind(skip, succeeded);
    if (this.#end === begin) this.#takeBack(unskipped, "");
    const units = (Math.min(begin, this.#end) - from) / alignment;
    this.#bytes.writeUInt16LE(units, at + layout.operationDelta);
  }

  /** Adds `block`, done where a register has a value, and `otherwise`, done where it has not when `block` would begin. */
  either(register: number, value: number, block: () => void, otherwise: () => void): void {
    let skip = 0;
    this.#behind(this.#addPending({ code: layout.opUnless, delta: register, length: value }), () => {
      block();
      skip = this.#addPending({ code: layout.opSkip });
    });
    this.#behind(skip, otherwise);
  }

  bytes(): Buffer {
    this.#flush();
    return this.#bytes.subarray(0, this.#end);
  }

  /** Makes room and clears it. */
  #reserve(size: number): void {
    if (this.#end + size <= this.#bytes.length) return;
    const larger = Buffer.alloc(2 * (this.#end + size));
    this.#bytes.copy(larger, 0, 0, this.#end);
    this.#bytes = larger;
  }

  /** @param note what is noted of it; left out: nothing. */
  #add(operation: Operation, text: Buffer | string, note?: EndMark): number {
    this.#isSteady &&= this.#conditions === 0 ? !mayKeep(operation) : !keeps(operation);
    const { code, slot = layout.unusedSlot, place = 0, delta = 0, length = 0, argument = 0, tail } = operation;
    const at = this.#end;
    // No unit of a text takes more than three bytes.
    this.#reserve(layout.operationHead + 3 * text.length + (tail?.length ?? 0) + 3 * alignment);
    const bytes = this.#bytes;
    const textAt = at + layout.operationHead;
    const textLength = typeof text === "string" ? bytes.write(text, textAt) : text.copy(bytes, textAt);
    const tailAt = textAt + roundUp(textLength);
    const dataEnd = tail === undefined ? textAt + textLength : tailAt + tail.copy(bytes, tailAt);
    const size = roundUp(dataEnd + (note === undefined ? 0 : layout.noteBytes) - at);
    bytes[at + layout.operationCode] = note === undefined ? code : code | layout.isNoted;
    if (note !== undefined) {
      bytes.writeUInt16LE(note.mark, at + size - layout.noteBytes);
      bytes.writeUInt16LE(note.name, at + size - layout.noteBytes + 2);
    }
    bytes[at + layout.operationSlot] = slot;
    bytes.writeUInt16LE(textLength, at + layout.operationText);
    bytes.writeUInt16LE(place, at + layout.operationPlace);
    bytes.writeUInt16LE(delta, at + layout.operationDelta);
    bytes.writeUInt16LE(size, at + layout.operationSize);
    bytes.writeUInt16LE(length, at + layout.operationLength);
    bytes.writeUInt32LE(argument, at + layout.operationArgument);
    this.#end = at + size;
    return at;
  }

  /** Adds an operation, and has noted what it writes of the ends. */
  #addNoted(operation: Operation, text: Buffer | string): number {
    if (!this.#hasEnds) return this.#add(operation, text);
    const note = endMark(operation, text.toString());
    if (note.mark === layout.markLine) this.#add({ code: layout.opAnywhere }, "");
    return this.#add(operation, text, note.mark === 0 || note.mark === layout.markLine ? undefined : note);
  }

  #addPending(operation: Operation): number {
    const text = this.#pending;
    this.#pending = "";
    if (text.length <= maxText / 3) return this.#addNoted(operation, text);
    let rest = Buffer.from(text);
    for (; rest.length > maxText; rest = rest.subarray(maxText)) {
      this.#addNoted({ code: layout.opText }, rest.subarray(0, maxText));
    }
    return this.#addNoted(operation, rest);
  }

  #flush(): void {
    if (this.#pending !== "") this.#addPending({ code: layout.opText });
  }

  /** Takes back what was added from an offset on. */
  #takeBack(to: number, text: string): void {
    this.#bytes.fill(0, to, this.#end);
    this.#end = to;
    this.#pending = text;
  }

  #conditionally(block: () => void): void {
    this.#conditions++;
    block();
    this.#flush();
    this.#conditions--;
  }

  /** Adds operations behind a jump that goes beyond them. */
  #behind(jump: number, block: () => void): void {
    const from = this.#end;
    this.#conditionally(block);
    this.#bytes.writeUInt32LE(this.#end - from, jump + layout.operationArgument);
  }
}

/** Operations of helpers: the values that these keep are not known beforehand. */
const helped: ReadonlySet<number> = new Set([layout.opHelper, layout.opList]);

/** Tells whether an operation keeps a value for some records alone. */
function mayKeep({ code, slot = layout.unusedSlot }: Operation): boolean {
  return helped.has(code) || (code === layout.opValue && slot !== layout.unusedSlot);
}

/** Tells whether it keeps one at all. */
function keeps({ code, slot = layout.unusedSlot, length = 0 }: Operation): boolean {
  const isCodePointKept = code === layout.opTable && length !== layout.unusedSlot;
  return slot !== layout.unusedSlot || isCodePointKept || helped.has(code);
}

function roundUp(bytes: number): number {
  return Math.ceil(bytes / alignment) * alignment;
}
