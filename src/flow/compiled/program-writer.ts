import * as layout from "../kernel/layout.ts";

/** One operation of a program, as {@link layout} has it. */
export interface Operation {
  readonly code: number;
  /** Where the value is kept. */
  readonly slot?: number;
  /** Of the field in the record, or its position in the template. */
  readonly place?: number;
  readonly delta?: number;
  readonly length?: number;
  readonly argument?: number;
  /** Bytes that follow the text. */
  readonly tail?: Buffer;
}

/** A program under construction: operations, and text of a line that is not part of one yet. */
export interface ProgramWriter {
  operation(operation: Operation): void;
  /** Adds text of the line. Neighbouring texts become one. */
  text(text: string): void;
  /** Adds an operation that goes on behind those which `block` adds. */
  skip(operation: Operation, block: () => void): void;
  bytes(): Buffer;
}

/** Longer texts are written by several operations. */
const maxText = 4096;
const alignment = 16;

export function createProgramWriter(): ProgramWriter {
  const pieces: Buffer[] = [];
  let end = 0;
  let pending: Buffer = Buffer.alloc(0);

  const add = (operation: Operation, text: Buffer): Buffer => {
    const { code, slot = layout.unusedSlot, place = 0, delta = 0, length = 0, argument = 0, tail } = operation;
    const textBytes = Math.ceil(text.length / alignment) * alignment;
    const tailBytes = Math.ceil((tail?.length ?? 0) / alignment) * alignment;
    const bytes = Buffer.alloc(layout.operationHead + textBytes + tailBytes);
    bytes.writeUInt8(code, layout.operationCode);
    bytes.writeUInt8(slot, layout.operationSlot);
    bytes.writeUInt16LE(text.length, layout.operationText);
    bytes.writeUInt16LE(place, layout.operationPlace);
    bytes.writeUInt16LE(delta, layout.operationDelta);
    bytes.writeUInt16LE(bytes.length, layout.operationSize);
    bytes.writeUInt16LE(length, layout.operationLength);
    bytes.writeUInt32LE(argument, layout.operationArgument);
    text.copy(bytes, layout.operationHead);
    tail?.copy(bytes, layout.operationHead + textBytes);
    pieces.push(bytes);
    end += bytes.length;
    return bytes;
  };

  const addPending = (operation: Operation): Buffer => {
    while (pending.length > maxText) {
      add({ code: layout.opText }, pending.subarray(0, maxText));
      pending = pending.subarray(maxText);
    }
    const text = pending;
    pending = Buffer.alloc(0);
    return add(operation, text);
  };

  const flush = (): void => {
    if (pending.length > 0) addPending({ code: layout.opText });
  };

  return {
    operation: (operation) => void addPending(operation),
    text: (text) => void (pending = Buffer.concat([pending, Buffer.from(text)])),
    skip(operation, block) {
      const jump = addPending(operation);
      const from = end;
      block();
      flush();
      jump.writeUInt32LE(end - from, layout.operationArgument);
    },
    bytes() {
      flush();
      return Buffer.concat(pieces);
    },
  };
}
