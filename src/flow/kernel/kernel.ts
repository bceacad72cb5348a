import {
  renderFields,
  type Workspace,
  createWorkspaceMemory,
  kernelReserve,
  type AddressAdditions,
} from "../../record/index.ts";
import type { CounterNames } from "../elements/mapping/element-names.ts";
import { joinedFields, roleMethods } from "./program-writer.ts";
import { icmpNamesOf, type IcmpName } from "./icmp-names.gen.ts";
import * as layout from "./layout.gen.ts";
import { lineKernel } from "./gen/line-kernel.ts";

// Chunks of text as numbers, lowest byte first, to be stored by one instruction. A chunk shorter than its number has zeros
// above it: its length is 4 - (clz32(chunk) >>> 3).

const asNumber = (text: string): number => Buffer.from(text.padEnd(4, "\0")).readUInt32LE();

/** 0 to 9999 without leading zeros. */
export const digits = Uint32Array.from({ length: 10_000 }, (_, i) => asNumber(String(i)));
/** 0 to 9999 as four digits. */
export const fourDigits = Uint32Array.from({ length: 10_000 }, (_, i) => asNumber(String(i).padStart(4, "0")));
/** 0 to 99 as two digits. */
const digitPairs = Uint16Array.from({ length: 100 }, (_, i) => asNumber(String(i).padStart(2, "0")));
/** `0.` to `255.` */
const octetsWithDot = Uint32Array.from({ length: 256 }, (_, i) => asNumber(`${i}.`));
/** A dot and three digits. */
const milliseconds = Uint32Array.from({ length: 1000 }, (_, i) => asNumber(`.${String(i).padStart(3, "0")}`));
/** Two lower-case digits. */
const hexPairs = Uint16Array.from({ length: 256 }, (_, i) => asNumber(i.toString(16).padStart(2, "0")));

const kernelTexts: readonly (readonly [number: number, text: string])[] = [
  [layout.versionText, ',"ip.version.ver":'],
  [layout.rateText, ',"flow.sample_rate":'],
  [layout.icmpTypeText, ',"icmp.type.id":'],
  [layout.icmpCodeText, ',"icmp.code.id":'],
  [layout.communityIdText, ',"flow.community.id":"1:'],
  [layout.assumedText, ',"flow.sampling.assumed":true'],
  [layout.labelText, ',"mpls.label.id":['],
  [layout.labelExpText, '],"mpls.label.exp":['],
  [layout.labelBottomText, '],"mpls.label.bottom":['],
  [layout.topLabelText, '],"mpls.top_label.id":'],
  [layout.versionNameText, ',"ip.version.name":"IPv'],
  [layout.inVlanText, ',"flow.in.vlan.tag.id":'],
  [layout.outVlanText, ',"flow.out.vlan.tag.id":'],
  [layout.vlansText, ',"vlan.tag.id":['],
  [layout.establishedText, ',"l4.session.established":true'],
  [layout.notEstablishedText, ',"l4.session.established":false'],
  [layout.conversationText, ',"flow.conversation.id":"'],
  [layout.sessionText, ',"flow.session.id":"'],
  [layout.sourceLabelText, ',"flow.src.as.label":"AS'],
  [layout.destinationLabelText, ',"flow.dst.as.label":"AS'],
  ...roleMethods.map((name, i) => [layout.methodTexts + i, `,"flow.clisrv.method":"${name}"`] as const),
];

const estimateTexts = (counters: CounterNames): typeof kernelTexts => [
  [layout.scaledOctetsText, `,"${counters.bytes.estimate}":`],
  [layout.scaledPacketsText, `,"${counters.packets.estimate}":`],
  [layout.reverseOctetsText, `,"${counters.reverseBytes.estimate}":`],
  [layout.reversePacketsText, `,"${counters.reversePackets.estimate}":`],
];

/** By which groups are zero: where the first longest run of at least two begins (four bits), and its length (four bits). */
const zeroGroupGaps = Uint8Array.from({ length: 256 }, (_, zeros) => {
  let best = 0;
  for (let start = 0; start < 8; start++) {
    let length = 0;
    while (start + length < 8 && (zeros & (1 << (start + length))) !== 0) length++;
    if (length >= 2 && length > (best & 15)) best = (start << 4) | length;
  }
  return best;
});

/** The largest number with so many leading zeros has the most digits; those below its power of ten have one digit less. */
const lengths = BigUint64Array.from({ length: 32 }, (_, zeros) => {
  const { length } = String(2 ** (32 - zeros) - 1);
  return (BigInt(length) << 32n) - (length === 1 ? 0n : 10n ** BigInt(length - 1));
});

/** Puts what the kernel looks things up in where it expects it. */
function writeKernelTables({ bytes, view }: Workspace, counters: CounterNames): void {
  const put = (table: Uint8Array | Uint16Array | Uint32Array | Int16Array | BigUint64Array, at: number): void =>
    bytes.set(new Uint8Array(table.buffer, table.byteOffset, table.byteLength), at);
  put(digits.subarray(0, 256), layout.octetTable);
  put(octetsWithDot, layout.dottedOctetTable);
  put(lengths, layout.lengthTable);
  put(digitPairs, layout.pairTable);
  put(milliseconds, layout.millisecondTable);
  put(hexPairs, layout.hexPairTable);
  put(zeroGroupGaps, layout.gapTable);
  put(partnerTable(icmpPartners), layout.icmpPartnerTable);
  put(partnerTable(icmpV6Partners), layout.icmpV6PartnerTable);
  put(icmpV6Types, layout.icmpV6TypeTable);
  put((icmpNames ??= renderIcmpNames()), layout.icmpNames);
  view.setFloat64(layout.renderedRate, Number.NaN, true);
  for (const [number, text] of [...kernelTexts, ...estimateTexts(counters)]) {
    const at = layout.texts + layout.textBytes * number;
    bytes[at + layout.textLength] = bytes.write(text, at);
  }
  joinedFields.forEach((name, i) => {
    const at = layout.joinTexts + layout.textBytes * i;
    bytes[at + layout.textLength] = bytes.write(`,"${name}":[`, at);
  });
  bytes.write(`,"flow.client.`, layout.endPrefixes);
  bytes.write(`,"flow.server.`, layout.endPrefixes + 16);
  for (let i = 0; i < layout.cachedSeconds; i++) {
    view.setBigInt64(layout.secondTable + layout.secondBytes * i, -1n, true);
  }
}

/** The names that {@link renderIcmpNames} made: the same for all kernels. */
let icmpNames: Uint8Array | undefined;

/** Names of types and codes of ICMP, as they stand in a line: the memory from {@link layout.icmpNames} on. */
function renderIcmpNames(): Uint8Array {
  const bytes = Buffer.alloc(layout.icmpTextsEnd - layout.icmpNames);
  let end: number = layout.icmpTexts;
  const take = (size: number): number => {
    const at = end;
    end += 8 * Math.ceil(size / 8);
    if (end > layout.icmpTextsEnd) throw new RangeError("there is no room for the names of ICMP");
    return at;
  };
  const putPair = (at: number, first: number, second: number): void => {
    bytes.writeUInt32LE(first, at - layout.icmpNames);
    bytes.writeUInt32LE(second, at - layout.icmpNames + 4);
  };
  const putField = (entry: number, name: string, value: string): void => {
    const text = renderFields([[name, value]]);
    const at = take(text.length);
    bytes.set(text, at - layout.icmpNames);
    putPair(entry, at, text.length);
  };
  const putAll = (table: number, names: readonly IcmpName[]): void => {
    for (const [type, name, codes = []] of names) {
      const entry = table + layout.icmpNameBytes * type;
      putField(entry, "icmp.type.name", name);
      const count = Math.max(0, ...codes.map(([code]) => code + 1));
      const codesAt = take(8 * count);
      putPair(entry + 8, codesAt, count);
      for (const [code, codeName] of codes) putField(codesAt + 8 * code, "icmp.code.name", codeName);
    }
  };
  putAll(layout.icmpNames, icmpNamesOf.get(1) ?? []);
  putAll(layout.icmpV6Names, icmpNamesOf.get(58) ?? []);
  return bytes;
}

/** By type: its partner, -1 where it has none. */
function partnerTable(partners: ReadonlyMap<number, number>): Int16Array {
  const table = new Int16Array(256).fill(-1);
  for (const [type, partner] of partners) table[type] = partner;
  return table;
}

/** Why flows cannot be decoded here, and what helps. */
const causes = {
  no_webassembly: "this Node.js runs without WebAssembly: start it without --jitless",
  no_memory:
    "there are no 8 GiB of addresses for WebAssembly: lift the limit on address space (ulimit -v, LimitAS= of systemd)",
  no_simd: "this processor is too old for WebAssembly with SIMD (x86-64 needs SSE4.1): run on another host",
} as const;

/** Flows cannot be decoded on this host, or in this process. */
class KernelError extends Error {
  readonly code: keyof typeof causes;

  constructor(code: keyof typeof causes, options?: ErrorOptions) {
    super(`flows cannot be decoded: ${causes[code]}`, options);
    this.name = "KernelError";
    this.code = code;
  }
}

function hasWebAssembly(): boolean {
  // oxlint-disable-next-line typescript/no-unnecessary-condition -- with --jitless there is none
  return globalThis.WebAssembly !== undefined;
}

/** The work that the kernel leaves to others. Offsets are those of the workspace; each writer returns where what it wrote ends. */
export interface KernelImports {
  /** Writes the value that a helper makes of the bytes at `from`, and keeps it in a slot. 0: there is none. */
  writeValue(helper: number, at: number, from: number, length: number, slot: number): number;
  /** 1 when a helper would make a value of these bytes, else 0. */
  hasValue(helper: number, from: number, length: number): number;
  /** Writes whatever a helper makes of the record at `from`. -1: there is no room for it. */
  help(helper: number, at: number, from: number): number;
  /** The sampling rate of the record under way, -1 when it is not known. */
  rateOf(): number;
  /** Writes the names that options gave to numbers in the record under way. */
  writeNames(at: number): number;
  /** Writes a rate, and the estimates by it of the counters in the record under way, where they are beyond what the kernel reckons. */
  writeEstimates(at: number, rate: number): number;
  /** Writes what is added to a number. -1: the additions have to be made otherwise. */
  addNumber(index: number, at: number, value: number, scope: number): number;
  /**
   * Writes the application of one of the ends: where their addresses are, of this many bytes, and their ports, -1 where there is none to
   * ask about. -1: the additions have to be made otherwise.
   */
  readonly addApp: (
    at: number,
    source: number,
    sourceLength: number,
    sourcePort: number,
    destination: number,
    destinationLength: number,
    destinationPort: number,
  ) => number;
  /** Returns the scope of an end of the flow, by the fields from `fieldsAt` up to `end`, the first behind a comma. */
  readonly chooseScope: (object: number, fieldsAt: number, end: number) => number;
  /** 1 when the line from `start` up to `end` is wanted, else 0; asked where a filter needs more than the kernel keeps. */
  judgeLine(start: number, end: number): number;
  /** As {@link AddressAdditions.locate}. */
  readonly locate: AddressAdditions["locate"];
  /** As {@link AddressAdditions.locateAll}. */
  readonly locateAll: AddressAdditions["locateAll"];
}

/** Writes lines by the programs made of templates: WebAssembly, compiled from `assembly/`. */
export interface Kernel {
  /**
   * Writes the lines of the records from `at` on until something comes that it cannot do.
   *
   * @param program, at, start, end offsets of the program, the next record, the set and its end in the workspace.
   * @param direction 1 to go on with the reverse direction of the record at `at`.
   * @param out where lines are to go, up to `limit`.
   * @returns how it ended: `isDone`, `isFull`, `isLeft`, `isCut`; `layout.ts` says where the rest of the outcome is.
   */
  run(program: number, direction: number, at: number, start: number, end: number, out: number, limit: number): number;
  /** Prefetches what is known of the addresses of the next records. */
  prefetch(program: number, at: number, count: number): void;
  /**
   * Writes the lines of samples from `first` up to `end` until one comes that it cannot do.
   *
   * @returns how it ended: `isDone`, `isFull`, `isLeft`; `resultCount` is the position of the next sample or of the one that is to
   *   become fields, `resultLines` how many lines there are, `resultEnd` the end of the last one.
   */
  writeSamples(first: number, end: number, out: number, limit: number): number;
  /** Asks for the memory of what is known of the addresses of the samples from `first` up to `end`. */
  prefetchSamples(first: number, end: number): void;
  /**
   * Lists the steps of the samples from `first` up to `end` until one comes that the other side has to list. The list goes on at `at`;
   * `listedSteps` says where it ends then.
   *
   * @returns the position of that sample, or `end`.
   */
  listSamples(first: number, end: number, at: number): number;
}

/**
 * @param counters what the counters and their estimates are called.
 * @throws KernelError where the kernel cannot run.
 */
export function createKernel(workspace: Workspace, imports: KernelImports, counters: CounterNames): Kernel {
  const { wasm } = workspace.memory;
  if (layout.linesEnd > kernelReserve)
    throw new RangeError("the kernel's layout is larger than its share of a workspace");
  if (wasm === undefined) throw new KernelError(hasWebAssembly() ? "no_memory" : "no_webassembly");
  writeKernelTables(workspace, counters);
  const { bytes, view } = workspace;
  const fillSecond = (at: number, second: number): void => {
    view.setBigInt64(at, BigInt(second), true);
    bytes.write(`"${new Date(second * 1000).toISOString().slice(0, 19)}`, at + 8);
  };
  const { exports } = new WebAssembly.Instance(compile(), {
    env: { memory: wasm },
    kernel: { ...imports, fillSecond },
  });
  return exports as unknown as Kernel;
}

/** @throws KernelError where the kernel cannot run. Nothing is left of the try. */
export function checkKernel(): void {
  if (!hasWebAssembly()) throw new KernelError("no_webassembly");
  if (createWorkspaceMemory(0).wasm === undefined) throw new KernelError("no_memory");
  compile();
}

/** Holds the code of all kernels of this thread. */
let compiled: WebAssembly.Module | undefined;

function compile(): WebAssembly.Module {
  try {
    return (compiled ??= new WebAssembly.Module(Buffer.from(lineKernel, "base64")));
  } catch (error) {
    if (error instanceof WebAssembly.CompileError) throw new KernelError("no_simd", { cause: error });
    throw error;
  }
}

/** Types of ICMPv6 that are assigned (IANA, "ICMPv6 Parameters"), 1 each; reserved and unassigned ones are 0. */
const icmpV6Types: Uint8Array = Uint8Array.from({ length: 256 }, (_, type) =>
  (type >= 1 && type <= 4) ||
  type === 100 ||
  type === 101 ||
  (type >= 128 && type <= 161) ||
  type === 200 ||
  type === 201
    ? 1
    : 0,
);

/** ICMP types that come as request and reply, each with its partner (Community ID specification, "ICMP"). */
const icmpPartners = bothWays([8, 0], [13, 14], [15, 16], [10, 9], [17, 18]);
const icmpV6Partners = bothWays([128, 129], [133, 134], [135, 136], [130, 131], [139, 140], [144, 145]);

function bothWays(...pairs: [number, number][]): ReadonlyMap<number, number> {
  return new Map(pairs.flatMap(([a, b]) => [[a, b] as const, [b, a] as const]));
}
