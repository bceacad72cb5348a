import {
  createWorkspaceMemory,
  kernelReserve,
  type AddressTableAccess,
  type Workspace,
} from "../../../record/index.ts";
import type { CounterNames } from "../../elements/mapping/counter-names.ts";
import { lineKernel } from "./gen/line-kernel.ts";
import { hasWebAssembly, KernelError } from "./kernel-error.ts";
import * as layout from "./layout.ts";
import { writeKernelTables } from "./kernel-tables.ts";

/** What the kernel leaves to others. Places are those of the workspace; each writer returns where what it wrote ends. */
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
  /** 1 when the line from `start` up to `end` is wanted, else 0; asked where a filter needs more than the kernel keeps. */
  judgeLine(start: number, end: number): number;
  /** As {@link AddressTableAccess.locate}. */
  readonly locate: AddressTableAccess["locate"];
  /** As {@link AddressTableAccess.locateAll}. */
  readonly locateAll: AddressTableAccess["locateAll"];
}

/** Writes lines by the programs made of templates: WebAssembly, compiled from `assembly/`. */
export interface Kernel {
  /**
   * Writes the lines of the records from `at` on until something comes that it cannot do.
   *
   * @param program, at, start, end places of the program, the next record, the set and its end in the workspace.
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
  const module = compile(Buffer.from(lineKernel, "base64"));
  const { exports } = new WebAssembly.Instance(module, { env: { memory: wasm }, kernel: { ...imports, fillSecond } });
  return exports as unknown as Kernel;
}

/** @throws KernelError where the kernel cannot run. Nothing is left of the try. */
export function checkKernel(): void {
  if (!hasWebAssembly()) throw new KernelError("no_webassembly");
  if (createWorkspaceMemory(0).wasm === undefined) throw new KernelError("no_memory");
  compile(Buffer.from(lineKernel, "base64"));
}

function compile(bytes: Uint8Array): WebAssembly.Module {
  try {
    return new WebAssembly.Module(bytes);
  } catch (error) {
    if (error instanceof WebAssembly.CompileError) throw new KernelError("no_simd", { cause: error });
    throw error;
  }
}
