/** Memory that a thread can hand to another; it goes through `postMessage`. */
export interface WorkspaceMemory {
  /** Undefined where the engine runs without WebAssembly, or has no addresses for it. */
  readonly wasm: WebAssembly.Memory | undefined;
  readonly buffer: SharedArrayBuffer;
}

/**
 * The one memory in which a thread decodes: what the kernel of `src/flow/line/kernel` reads and writes has to lie there, from the
 * datagram to the lines. Its size is fixed; what is not used of it takes no memory.
 */
export interface Workspace {
  readonly memory: WorkspaceMemory;
  readonly bytes: Buffer;
  readonly view: DataView;
  /**
   * Takes memory for good. All of it is zero.
   *
   * @returns where it begins, a multiple of 64; eight bytes and more behind it may be read and written.
   * @throws RangeError when there is not so much.
   */
  allocate(bytes: number): number;
  /** Takes the kernel's share. @returns false when someone has it already: there is one kernel in a workspace. */
  takeKernel(): boolean;
}

/** The first bytes of a workspace belong to the kernel. */
export const kernelReserve = 16 * 1024 * 1024;
const page = 65_536;
const maxPages = 65_536;
const alignment = 64;
/** More than the kernel reads behind anything, when it only asks for memory that may be needed. */
const slack = 256;

/** @param bytes in addition to the kernel's own, with the slack of each piece. @throws RangeError for more than 4 GiB. */
export function createWorkspaceMemory(bytes: number): WorkspaceMemory {
  const pages = Math.ceil((kernelReserve + bytes) / page);
  const wasm = tryWasmMemory(pages);
  return { wasm, buffer: wasm?.buffer ?? new SharedArrayBuffer(pages * page) };
}

function tryWasmMemory(pages: number): WebAssembly.Memory | undefined {
  // oxlint-disable-next-line typescript/no-unnecessary-condition -- with --jitless there is none
  if (globalThis.WebAssembly === undefined) return undefined;
  try {
    return new WebAssembly.Memory({ initial: pages, maximum: pages, shared: true });
  } catch (error) {
    // The engine takes 8 GiB of addresses for it, which `ulimit -v` may forbid.
    if (error instanceof RangeError && pages <= maxPages) return undefined;
    throw error;
  }
}

/** @param taken bytes behind the kernel's that others use. */
export function createWorkspace({ wasm, buffer: given }: WorkspaceMemory, taken = 0): Workspace {
  const buffer = wasm?.buffer ?? given;
  let end = kernelReserve + taken;
  let hasKernel = false;
  return {
    memory: { wasm, buffer },
    bytes: Buffer.from(buffer),
    view: new DataView(buffer),
    allocate(bytes) {
      const at = end;
      end += spaceFor(bytes);
      if (end > buffer.byteLength)
        throw new RangeError(`a workspace of ${buffer.byteLength} bytes has no ${bytes} left`);
      return at;
    },
    takeKernel() {
      const isFree = !hasKernel;
      hasKernel = true;
      return isFree;
    },
  };
}

/** What {@link Workspace.allocate} takes for this many bytes. */
export function spaceFor(bytes: number): number {
  return Math.ceil((bytes + slack) / alignment) * alignment;
}
