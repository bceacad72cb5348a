import { fieldNumbers, LineWalker, protoRest, type FieldType } from "../../record/index.ts";
import { MessageWriter, tagOf, wireType } from "./message-writer.ts";

/** Makes a message of Protocol Buffers of a line. */
export interface MessageEncoder {
  /** Writes the message of the line at `from` … `to`; the writer has room for it. */
  encode(out: MessageWriter, lines: Uint8Array, from: number, to: number): void;
}

/** Writes a value into the message; false: it is not of the field's type. */
type WriteValue = (out: MessageWriter, lines: Uint8Array, from: number, to: number) => boolean;

interface Use {
  /** Undefined: the field has no number. */
  readonly write: WriteValue | undefined;
  /** As UTF-8. */
  readonly name: Uint8Array;
}

const quote = 0x22;
const textsTag = tagOf(protoRest.texts, wireType.bytes);
const valuesTag = tagOf(protoRest.values, wireType.bytes);

/**
 * Makes messages of `proto/flow/v1/flow.proto`. What has no number, or is not of its field's type, stands in the maps by its name, so
 * that message and line say the same.
 */
export class FlowEncoder implements MessageEncoder {
  readonly #walker = new LineWalker<Use>(useOf);
  #out = new MessageWriter();
  #lines: Uint8Array = new Uint8Array(0);

  encode(out: MessageWriter, lines: Uint8Array, from: number, to: number): void {
    this.#out = out;
    this.#lines = lines;
    this.#walker.walk(lines, from, to, this.#visit);
  }

  readonly #visit = ({ write, name }: Use, _: number, value: number, end: number): void => {
    if (write?.(this.#out, this.#lines, value, end) === true) return;
    this.#out.entry(this.#lines[value] === quote ? textsTag : valuesTag, name, this.#lines, value, end);
  };
}

function useOf(name: string): Use {
  const field = fieldNumbers.get(name);
  const write =
    field && (field.isArray ? arrayWriter(field.type, field.number) : scalarWriter(field.type, field.number));
  return { name: Buffer.from(name), write };
}

function scalarWriter(type: FieldType, number: number): WriteValue {
  const bytes = tagOf(number, wireType.bytes);
  const varint = tagOf(number, wireType.varint);
  const fixed = tagOf(number, wireType.fixed64);
  switch (type) {
    case "keyword":
    case "geo_point":
      return (out, lines, from, to) => out.text(lines, from, to, bytes);
    case "ip":
      return (out, lines, from, to) => out.address(lines, from, to, bytes);
    case "long":
      return (out, lines, from, to) => out.whole(lines, from, to, varint, true);
    case "unsigned_long":
      return (out, lines, from, to) => out.whole(lines, from, to, varint, false);
    case "double":
      return (out, lines, from, to) => out.double(lines, from, to, fixed);
    case "boolean":
      return (out, lines, from, to) => out.boolean(lines, from, to, varint);
    case "date":
    case "date_nanos":
      break;
  }
  return (out, lines, from, to) => out.time(lines, from, to, fixed, true);
}

/** Numbers stand together behind one tag, the others have one each. */
function arrayWriter(type: FieldType, number: number): WriteValue {
  const tag = tagOf(number, wireType.bytes);
  switch (type) {
    case "long":
    case "unsigned_long":
      return (out, lines, from, to) =>
        out.packed(lines, from, to, tag, (begin, end) => out.wholeItem(lines, begin, end, type === "long"));
    case "double":
      return (out, lines, from, to) =>
        out.packed(lines, from, to, tag, (begin, end) => out.doubleItem(lines, begin, end));
    case "boolean":
      return (out, lines, from, to) =>
        out.packed(lines, from, to, tag, (begin, end) => out.booleanItem(lines, begin, end));
    case "date":
    case "date_nanos":
      // The table has no array of times.
      return () => false;
    case "keyword":
    case "geo_point":
    case "ip":
      break;
  }
  const one = scalarWriter(type, number);
  return (out, lines, from, to) => out.repeated(lines, from, to, (begin, end) => one(out, lines, begin, end));
}
