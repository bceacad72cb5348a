import type { AddressTableAccess, Workspace } from "../../record/index.ts";
import { lineKernel } from "./gen/line-kernel.ts";
import { writeKernelTables } from "./kernel-tables.ts";

/** What the kernel leaves to others. Places are those of the workspace; each writer returns where what it wrote ends. */
export interface KernelImports {
  /** Writes what the interpreter makes of a step. */
  interpret(step: number, at: number, from: number): number;
  /** When the exporter started by the record itself, milliseconds since the epoch; NaN when it does not say. */
  bootTime(from: number): number;
  /** The sampling rate of the record, -1 when it is not known. */
  rateOf(from: number): number;
  /** Writes the names that options gave to numbers in the record. */
  writeNames(at: number, from: number): number;
  /** Writes a rate that is no whole number, and the estimates by it. -1: the record has to become fields. */
  writeEstimates(at: number, rate: number, octets: number, packets: number): number;
  /** Writes what is added to a number. -1: the record has to become fields. */
  addNumber(index: number, at: number, value: number, scope: number): number;
  /** As {@link AddressTableAccess.locate}. */
  readonly locate: AddressTableAccess["locate"];
}

/** Writes lines by the programs made of templates: WebAssembly, compiled from `assembly/`. */
export interface Kernel {
  /**
   * Writes the lines of the records from `at` on until something comes that it cannot do.
   *
   * @param program, at, start, end places of the program, the next record, the set and its end in the workspace.
   * @param out where lines are to go, up to `limit`.
   * @returns how it ended: `isDone`, `isFull`, `isCareful`, `isCut`; `layout.ts` says where more is told.
   */
  run(program: number, at: number, start: number, end: number, out: number, limit: number): number;
  /** Brings near what is known of the addresses of the next records. */
  touch(program: number, at: number, count: number): void;
  /**
   * Writes the lines of samples from `first` up to `end` until one comes that it cannot do.
   *
   * @param head, headLength where the text is that lines begin with, and how long.
   * @returns how it ended: `isDone`, `isFull`, `isCareful`; `resultCount` is the position of the next sample or of the one that is to
   *   become fields, `resultEnd` the end of the last line.
   */
  writeSamples(first: number, end: number, head: number, headLength: number, out: number, limit: number): number;
  /** Asks for the memory of what is known of the addresses of so many samples. */
  prefetchSamples(count: number): void;
}

/** @returns undefined where there is no WebAssembly, or none that the module can be compiled for. */
export function createKernel(workspace: Workspace, imports: KernelImports): Kernel | undefined {
  const { wasm } = workspace.memory;
  if (wasm === undefined) return undefined;
  writeKernelTables(workspace);
  const { bytes, view } = workspace;
  const fillSecond = (at: number, second: number): void => {
    view.setBigInt64(at, BigInt(second), true);
    bytes.write(`"${new Date(second * 1000).toISOString().slice(0, 19)}`, at + 8);
  };
  const module = compile(Buffer.from(lineKernel, "base64"));
  if (module === undefined) return undefined;
  const { exports } = new WebAssembly.Instance(module, { env: { memory: wasm }, kernel: { ...imports, fillSecond } });
  return exports as unknown as Kernel;
}

function compile(bytes: Uint8Array): WebAssembly.Module | undefined {
  try {
    return new WebAssembly.Module(bytes);
  } catch (error) {
    // An old processor without the instructions for SIMD.
    if (error instanceof WebAssembly.CompileError) return undefined;
    throw error;
  }
}
