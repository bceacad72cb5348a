// Writes databases in the MaxMind DB File Format 2.0, for tests.
import { parseKey } from "../../src/base/ip/index.ts";

export type MmdbValue = string | number | boolean | readonly MmdbValue[] | { readonly [name: string]: MmdbValue };

export interface MmdbShape {
  readonly type?: string;
  readonly recordSize?: 24 | 28 | 32;
  readonly ipVersion?: 4 | 6;
  /** Whether what was there before is pointed to. */
  readonly pointers?: boolean;
}

/** A node of the search tree: where 0 and 1 lead. `undefined` is nothing known. */
interface Node {
  readonly sides: [Side, Side];
}
type Side = Node | { readonly data: MmdbValue } | undefined;

/** @param networks by CIDR; of two that contain each other the narrower counts. */
export function mmdbFile(networks: Readonly<Record<string, MmdbValue>>, shape: MmdbShape = {}): Buffer {
  const { type = "Test", recordSize = 24, ipVersion = 6, pointers = false } = shape;
  const root: Node = { sides: [undefined, undefined] };
  const byWidth = Object.entries(networks)
    .map(([cidr, data]) => ({ path: bitsOf(cidr, ipVersion), data }))
    .toSorted((a, b) => a.path.length - b.path.length);
  for (const { path, data } of byWidth) insert(root, path, data);

  const nodes = [...allNodes(root)];
  const numbers = new Map(nodes.map((node, n) => [node, n]));
  const data: Buffer[] = [];
  const offsets = new Map<MmdbValue, number>();
  const known = pointers ? new Map<string, number>() : undefined;
  let dataLength = 0;
  const pointer = (side: Side): number => {
    if (side === undefined) return nodes.length;
    if ("sides" in side) return numbers.get(side) as number;
    let offset = offsets.get(side.data);
    if (offset === undefined) {
      offset = dataLength;
      offsets.set(side.data, offset);
      const bytes = encode(side.data, dataLength, known);
      data.push(bytes);
      dataLength += bytes.length;
    }
    return nodes.length + 16 + offset;
  };
  const tree = nodes.map(({ sides: [left, right] }) => encodeNode(pointer(left), pointer(right), recordSize));
  const metadata = encode({
    binary_format_major_version: 2,
    binary_format_minor_version: 0,
    build_epoch: 1_700_000_000,
    database_type: type,
    description: { en: "made by a test" },
    ip_version: ipVersion,
    languages: ["en"],
    node_count: nodes.length,
    record_size: recordSize,
  });
  const marker = Buffer.concat([Buffer.from([0xab, 0xcd, 0xef]), Buffer.from("MaxMind.com")]);
  return Buffer.concat([...tree, Buffer.alloc(16), ...data, marker, metadata]);
}

/** The way through the tree to a network. */
function bitsOf(cidr: string, ipVersion: 4 | 6): string {
  const { family, first } = parseKey(cidr);
  const width = ipVersion === 4 ? 32 : 128;
  if (family > ipVersion) throw new Error(`${cidr} has no place in a database of IPv4`);
  const length = Number(cidr.slice(cidr.indexOf("/") + 1)) + (family === 4 ? width - 32 : 0);
  return first.toString(2).padStart(width, "0").slice(0, length);
}

function insert(root: Node, path: string, data: MmdbValue): void {
  let node = root;
  for (let depth = 0; depth < path.length; depth++) {
    const bit = path[depth] === "1" ? 1 : 0;
    if (depth === path.length - 1) {
      node.sides[bit] = { data };
      return;
    }
    const next = node.sides[bit];
    if (next !== undefined && "sides" in next) node = next;
    else node = node.sides[bit] = { sides: [next, next] };
  }
}

function* allNodes(node: Node): Generator<Node> {
  yield node;
  for (const side of node.sides) if (side !== undefined && "sides" in side) yield* allNodes(side);
}

function encodeNode(left: number, right: number, recordSize: 24 | 28 | 32): Buffer {
  const bytes = Buffer.alloc(recordSize / 4);
  if (recordSize === 24) {
    bytes.writeUIntBE(left, 0, 3);
    bytes.writeUIntBE(right, 3, 3);
  } else if (recordSize === 28) {
    bytes.writeUIntBE(left & 0xff_ffff, 0, 3);
    bytes[3] = ((left >>> 24) << 4) | (right >>> 24);
    bytes.writeUIntBE(right & 0xff_ffff, 4, 3);
  } else {
    bytes.writeUInt32BE(left, 0);
    bytes.writeUInt32BE(right, 4);
  }
  return bytes;
}

const types = { string: 2, double: 3, uint32: 6, map: 7, array: 11, boolean: 14 } as const;

/** @param known where values lie that pointers may lead to. */
function encode(value: MmdbValue, at = 0, known?: Map<string, number>): Buffer {
  const text = JSON.stringify(value);
  const before = known?.get(text);
  if (before !== undefined) return encodePointer(before);
  known?.set(text, at);
  if (typeof value === "string") {
    const bytes = Buffer.from(value);
    return Buffer.concat([control(types.string, bytes.length), bytes]);
  }
  if (typeof value === "boolean") return control(types.boolean, value ? 1 : 0);
  if (typeof value === "number") {
    const isInteger = Number.isInteger(value) && value >= 0 && value <= 0xffff_ffff;
    const bytes = Buffer.alloc(isInteger ? 4 : 8);
    if (isInteger) bytes.writeUInt32BE(value);
    else bytes.writeDoubleBE(value);
    return Buffer.concat([control(isInteger ? types.uint32 : types.double, bytes.length), bytes]);
  }
  const isArray = Array.isArray(value);
  const inner: readonly MmdbValue[] = isArray ? value : Object.entries(value).flat();
  const parts = [control(isArray ? types.array : types.map, isArray ? inner.length : inner.length / 2)];
  let end = at + (parts[0] as Buffer).length;
  for (const part of inner) {
    const bytes = encode(part, end, known);
    parts.push(bytes);
    end += bytes.length;
  }
  return Buffer.concat(parts);
}

function encodePointer(to: number): Buffer {
  if (to < 2048) return Buffer.from([(1 << 5) | (to >> 8), to & 255]);
  const rest = to - 2048;
  return Buffer.from([(1 << 5) | (1 << 3) | (rest >> 16), (rest >> 8) & 255, rest & 255]);
}

/** The control byte, the type's byte behind it where the type is above 7, then a length of 29 or more. */
function control(type: number, length: number): Buffer {
  const short = length < 29 ? length : length < 285 ? 29 : 30;
  const long = short === 29 ? [length - 29] : short === 30 ? [(length - 285) >> 8, (length - 285) & 0xff] : [];
  return Buffer.from(type <= 7 ? [(type << 5) | short, ...long] : [short, type - 7, ...long]);
}
