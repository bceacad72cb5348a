import {
  ScalarType,
  type DescEnum,
  create,
  type DescField,
  type DescMessage,
  type MessageShape,
} from "@bufbuild/protobuf";
import { FieldMaskSchema, type FieldMask } from "@bufbuild/protobuf/wkt";
import { isUtf8 } from "node:buffer";
import { quote } from "../../base/text/index.ts";
import {
  JsonNumber,
  type JsonNode,
  type TakeItem,
  JsonSyntaxError,
  parseJson,
  parseJsonInTurns,
  type ReadingTurn,
} from "./parse-json.ts";
import { maxViolations } from "../../metadata/index.ts";
import { apiError, violationsError } from "../api-error.ts";

/** One mismatch between JSON and the message. `field` is its path in the request, such as `requests[3].udm.vlan`. */
interface JsonFault {
  readonly field: string;
  readonly description: string;
}

/** The error for JSON that does not match the message, with all faults in the order of the text. */
class JsonFieldError extends Error {
  readonly faults: readonly JsonFault[];

  constructor(faults: readonly JsonFault[]) {
    super(faults.map(({ field, description }) => (field === "" ? description : `${field}: ${description}`)).join("; "));
    this.name = "JsonFieldError";
    this.faults = faults;
  }
}

/** Returns a {@link JsonFieldError} with one fault. */
function fieldError(field: string, description: string): JsonFieldError {
  return new JsonFieldError([{ field, description }]);
}

const decimal = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/**
 * Reads an exact integer from a number literal or a string with one. By proto3 JSON, `1e3` and `7.0` are
 * integers.
 *
 * @throws JsonFieldError
 */
function readInteger(
  node: JsonNode,
  field: string,
  { min, max }: { readonly min: bigint; readonly max: bigint },
): bigint {
  if (!(node instanceof JsonNumber) && typeof node !== "string") {
    throw fieldError(field, "must be a number or a string of digits");
  }
  const text = typeof node === "string" ? node : node.text;
  const shown = typeof node === "string" ? quote(text) : quote(text).slice(1, -1);
  const value = exactInteger(text);
  if (value === undefined) throw fieldError(field, `${shown} is not an integer`);
  if (value === "large" || value < min || value > max) {
    throw fieldError(field, `${shown} is not within ${min} to ${max}`);
  }
  return value;
}

/** Reads an exact integer. @returns undefined for any other text, `large` for more than 20 digits. */
function exactInteger(text: string): bigint | "large" | undefined {
  const match = decimal.exec(text);
  if (match === null) return undefined;
  const [, sign = "", whole = "", fraction = "", exponentText = "0"] = match;
  const digits = `${whole}${fraction}`.replace(/^0+/, "");
  if (digits === "") return 0n;
  const significant = digits.replace(/(?<!0)0+$/, "");
  // The value is `significant` times ten to the power of `scale`.
  const scale = Number(exponentText) - fraction.length + (digits.length - significant.length);
  if (scale < 0) return undefined;
  if (significant.length + scale > 20) return "large";
  const value = BigInt(significant) * 10n ** BigInt(scale);
  return sign === "-" ? -value : value;
}

const int32 = { min: -(1n << 31n), max: (1n << 31n) - 1n };
const uint32 = { min: 0n, max: (1n << 32n) - 1n };
const int64 = { min: -(1n << 63n), max: (1n << 63n) - 1n };
const uint64 = { min: 0n, max: (1n << 64n) - 1n };

/**
 * Reads a value that is not a message, by the rules of proto3 JSON.
 *
 * @throws JsonFieldError
 */
function readScalar(type: DescEnum | ScalarType | undefined, node: JsonNode, path: string): unknown {
  if (typeof type === "object") return readEnum(type, node, path);
  switch (type) {
    case ScalarType.STRING:
      if (typeof node !== "string") throw fieldError(path, "must be a string");
      return node;
    case ScalarType.BOOL:
      if (typeof node !== "boolean") throw fieldError(path, "must be true or false");
      return node;
    case ScalarType.UINT64:
    case ScalarType.FIXED64:
      return readInteger(node, path, uint64);
    case ScalarType.INT64:
    case ScalarType.SINT64:
    case ScalarType.SFIXED64:
      return readInteger(node, path, int64);
    case ScalarType.UINT32:
    case ScalarType.FIXED32:
      return Number(readInteger(node, path, uint32));
    case ScalarType.INT32:
    case ScalarType.SINT32:
    case ScalarType.SFIXED32:
      return Number(readInteger(node, path, int32));
    case ScalarType.BYTES:
      return readBytes(node, path);
    case ScalarType.DOUBLE:
    case ScalarType.FLOAT:
    case undefined:
    default:
      return readDouble(node, path);
  }
}

function readEnum(desc: DescEnum, node: JsonNode, path: string): number {
  if (node instanceof JsonNumber) return Number(readInteger(node, path, int32));
  const value = desc.values.find(({ name }) => name === node);
  if (value !== undefined) return value.number;
  throw fieldError(path, `must be one of ${desc.values.map(({ name }) => JSON.stringify(name)).join(", ")}`);
}

function readBytes(node: JsonNode, path: string): Uint8Array {
  if (typeof node === "string" && /^[A-Za-z0-9+/_-]*={0,2}$/.test(node)) return Buffer.from(node, "base64");
  throw fieldError(path, "must be bytes in base64");
}

function readDouble(node: JsonNode, path: string): number {
  if (!(node instanceof JsonNumber) && typeof node !== "string") throw fieldError(path, "must be a number");
  const text = typeof node === "string" ? node : node.text;
  const value = text.trim() === "" ? Number.NaN : Number(text);
  if (Number.isNaN(value) && text !== "NaN") throw fieldError(path, `${quote(text)} is not a number`);
  return value;
}

/**
 * Reads a field mask in either form: `"name,tags"`, with optional blanks around commas, or `{"paths": ["name", "tags"]}`. The service checks
 * whether the paths name fields.
 *
 * @throws JsonFieldError
 */
function readFieldMask(node: JsonNode, field: string): FieldMask {
  if (typeof node === "string") {
    const paths = node.trim() === "" ? [] : node.split(",").map((path) => path.trim());
    return create(FieldMaskSchema, { paths });
  }
  if (!(node instanceof Map)) {
    throw fieldError(field, 'must be a string "name,tags" or an object {"paths": ["name", "tags"]}');
  }
  for (const name of node.keys()) {
    if (name !== "paths") throw fieldError(field, `unknown field ${quote(String(name))}: expected "paths"`);
  }
  const paths = (node as ReadonlyMap<string, JsonNode>).get("paths") ?? [];
  if (!Array.isArray(paths)) throw fieldError(`${field}.paths`, "must be an array of strings");
  return create(FieldMaskSchema, {
    paths: paths.map((path: JsonNode, i) => {
      if (typeof path !== "string") throw fieldError(`${field}.paths[${i}]`, "must be a string");
      return path;
    }),
  });
}

/** The treatment of a name that is not a field of the message. */
export type UnknownFields = "reject" | "ignore";

/**
 * Reads a request message from JSON by the rules of proto3 JSON, with two additions: a field mask may be an object of
 * paths, and 64-bit numbers are exact. Names are lowerCamelCase or as in the schema; null is the zero value.
 *
 * Lists of messages in the top-level object may arrive item by item while the text is parsed.
 */
class MessageReader<Desc extends DescMessage> {
  readonly #desc: Desc;
  readonly #unknownFields: UnknownFields;
  readonly #maxFaults: number;
  readonly #faults: JsonFault[] = [];
  readonly #lists: { readonly field: DescField; readonly items: unknown[] }[] = [];

  /** @param maxFaults the number of faults at which the reading ends. */
  constructor(desc: Desc, unknownFields: UnknownFields, maxFaults: number) {
    this.#desc = desc;
    this.#unknownFields = unknownFields;
    this.#maxFaults = maxFaults;
  }

  /** Returns a function that takes the items of the named array; undefined where it is not a list of messages. */
  takerOf(name: string): TakeItem | undefined {
    const field = fieldsByJsonName(this.#desc).get(name);
    if (field?.fieldKind !== "list" || field.message === undefined) return undefined;
    const items: unknown[] = [];
    this.#lists.push({ field, items });
    return (item, index) => {
      if (this.#isFull()) return;
      try {
        items.push(this.#readSingle(field, item, `${name}[${index}]`));
      } catch (error) {
        this.#note(error);
      }
    };
  }

  /**
   * Reads the message.
   *
   * @param node the whole text, or the rest with empty arrays in place of the items that were taken.
   * @throws JsonFieldError with all faults, those of items first.
   */
  read(node: JsonNode): MessageShape<Desc> {
    let message: Record<string, unknown> = {};
    try {
      message = this.#readObject(this.#desc, node, "");
    } catch (error) {
      this.#note(error);
    }
    if (this.#faults.length > 0) throw new JsonFieldError(this.#faults);
    for (const { field, items } of this.#lists) message[field.localName] = items;
    return message as MessageShape<Desc>;
  }

  #isFull(): boolean {
    return this.#faults.length >= this.#maxFaults;
  }

  /** Records the faults of an error. @throws any other error. */
  #note(error: unknown): void {
    if (!(error instanceof JsonFieldError)) throw error;
    this.#faults.push(...error.faults.slice(0, this.#maxFaults - this.#faults.length));
  }

  /** Reads the matching fields of a message, and records the faults of the others. */
  #readObject(desc: DescMessage, node: JsonNode, path: string): Record<string, unknown> {
    if (!(node instanceof Map)) throw fieldError(path, "must be an object");
    const message = create(desc) as unknown as Record<string, unknown>;
    for (const [name, value] of node as ReadonlyMap<string, JsonNode>) {
      if (this.#isFull()) break;
      try {
        const field = fieldsByJsonName(desc).get(name);
        if (field === undefined) {
          if (this.#unknownFields === "ignore") continue;
          throw fieldError(path, `unknown field ${quote(name)}: expected one of ${expectedNames(desc)}`);
        }
        const other = name === field.name ? field.jsonName : field.name;
        if (other !== name && isBefore(node, other, name)) {
          throw fieldError(path, `${quote(other)} and ${quote(name)} are the same field`);
        }
        // By contract, masks inside a batch have no effect, so their content must not fail the batch.
        if (value === null || (path !== "" && field.message?.typeName === FieldMaskSchema.typeName)) continue;
        setField(message, field, this.#readField(field, value, path === "" ? name : `${path}.${name}`));
      } catch (error) {
        this.#note(error);
      }
    }
    return message;
  }

  #readField(field: DescField, node: JsonNode, path: string): unknown {
    if (field.fieldKind === "map") return this.#readMap(field, node, path);
    if (field.fieldKind !== "list") return this.#readSingle(field, node, path);
    if (!Array.isArray(node)) throw fieldError(path, "must be an array");
    const items: unknown[] = [];
    for (const [i, item] of (node as readonly JsonNode[]).entries()) {
      if (this.#isFull()) break;
      try {
        items.push(this.#readSingle(field, item, `${path}[${i}]`));
      } catch (error) {
        this.#note(error);
      }
    }
    return items;
  }

  #readMap(field: DescField, node: JsonNode, path: string): Record<string, unknown> {
    if (!(node instanceof Map)) throw fieldError(path, "must be an object");
    // Without a prototype, `__proto__` is an ordinary key.
    const values = Object.create(null) as Record<string, unknown>;
    for (const [key, value] of node as ReadonlyMap<string, JsonNode>) {
      if (this.#isFull()) break;
      try {
        values[key] = this.#readSingle(field, value, `${path}[${quote(key)}]`);
      } catch (error) {
        this.#note(error);
      }
    }
    return values;
  }

  /** Reads one value of the field's type: an item of a list, or a value of a map. */
  #readSingle(field: DescField, node: JsonNode, path: string): unknown {
    const { message, enum: enumeration, scalar } = field;
    if (message?.typeName === FieldMaskSchema.typeName) return readFieldMask(node, path);
    if (message !== undefined) return this.#readObject(message, node, path);
    return readScalar(enumeration ?? scalar, node, path);
  }
}

/** Reports whether an object has both names, `one` before `other`. */
function isBefore(node: ReadonlyMap<string, JsonNode>, one: string, other: string): boolean {
  if (!node.has(one)) return false;
  for (const name of node.keys()) if (name === one || name === other) return name === one;
  return false;
}

function setField(message: Record<string, unknown>, field: DescField, value: unknown): void {
  if (field.oneof === undefined) message[field.localName] = value;
  else message[field.oneof.localName] = { case: field.localName, value };
}

const fieldMaps = new WeakMap<DescMessage, ReadonlyMap<string, DescField>>();

function fieldsByJsonName(desc: DescMessage): ReadonlyMap<string, DescField> {
  let fields = fieldMaps.get(desc);
  if (fields === undefined) {
    fields = new Map(desc.fields.flatMap((field) => [field.name, field.jsonName].map((name) => [name, field])));
    fieldMaps.set(desc, fields);
  }
  return fields;
}

function expectedNames(desc: DescMessage): string {
  const names = desc.fields.map((field) => JSON.stringify(field.name));
  return names.length === 0 ? "none" : names.join(", ");
}

/** Returns a JSON value in the form of `JSON.parse`. */
export function plainJson(node: JsonNode): unknown {
  if (node instanceof JsonNumber) return Number(node.text);
  if (node instanceof Map) return Object.fromEntries(Array.from(node, ([name, value]) => [name, plainJson(value)]));
  return Array.isArray(node) ? node.map((each) => plainJson(each as JsonNode)) : node;
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

/**
 * Reads a request message from the bytes of a JSON text.
 *
 * @throws ConnectError `invalid_argument`, naming the line and column or the field.
 */
export function decodeRequest<Desc extends DescMessage>(
  desc: Desc,
  bytes: Uint8Array,
  unknownFields: UnknownFields,
): MessageShape<Desc> {
  const node = decodeJson(bytes);
  try {
    return new MessageReader(desc, unknownFields, maxViolations).read(node);
  } catch (error) {
    throw fieldFault(error);
  }
}

/** Reads a request message from a long text, and lets other work run in between. */
export async function decodeRequestInTurns<Desc extends DescMessage>(
  desc: Desc,
  bytes: Uint8Array,
  unknownFields: UnknownFields,
  turn: ReadingTurn,
): Promise<MessageShape<Desc>> {
  const reader = new MessageReader(desc, unknownFields, maxViolations);
  const node = await parseJsonInTurns(chunksOf(bytes), turn, (name) => reader.takerOf(name)).catch((error: unknown) => {
    throw syntaxFault(error);
  });
  try {
    return reader.read(node);
  } catch (error) {
    throw fieldFault(error);
  }
}

/**
 * Reads any JSON text.
 *
 * @throws ConnectError `invalid_argument`
 */
export function decodeJson(bytes: Uint8Array): JsonNode {
  const text = decodeText(bytes);
  try {
    return parseJson(text);
  } catch (error) {
    throw syntaxFault(error);
  }
}

function decodeText(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw notUtf8();
  }
}

/** The bytes of a chunk of text. */
const chunkLength = 4_194_304;

/** Decodes long bytes in chunks of text. */
function* chunksOf(bytes: Uint8Array): Generator<string, void> {
  const all = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = all.subarray(0, 3).equals(byteOrderMark) ? 3 : 0; at < all.length;) {
    let end = Math.min(all.length, at + chunkLength);
    // Do not cut within a character, whose first byte has at most three more after it.
    for (let back = 0; back < 3 && isContinuation(all[end]); back++) end--;
    const chunk = all.subarray(at, end);
    if (!isUtf8(chunk)) throw notUtf8();
    yield chunk.toString();
    at = end;
  }
}

const byteOrderMark = Buffer.from([0xef, 0xbb, 0xbf]);

function isContinuation(byte = 0): boolean {
  return (byte & 0xc0) === 0x80;
}

function notUtf8(): Error {
  return apiError("invalid_argument", "MALFORMED_JSON", "the body is not valid UTF-8");
}

function syntaxFault(error: unknown): unknown {
  return error instanceof JsonSyntaxError ? apiError("invalid_argument", "MALFORMED_JSON", error.message) : error;
}

function fieldFault(error: unknown): unknown {
  if (!(error instanceof JsonFieldError)) return error;
  return violationsError("invalid_argument", "MALFORMED_JSON", error.faults, (field) => field !== "");
}
