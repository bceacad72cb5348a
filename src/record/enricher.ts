import type { RenderedFields } from "./record-fields.ts";
import type { RecordFields, Value } from "./record-fields.ts";

/** Memory that one thread can pass to another by `postMessage`. */
export interface WorkspaceMemory {
  /** Undefined if the engine runs without WebAssembly, or has too little address space for it. */
  readonly wasm: WebAssembly.Memory | undefined;
  readonly buffer: SharedArrayBuffer;
}

/**
 * The one memory in which a thread decodes. All that the kernel of `src/flow/kernel` reads and writes lies there, from the
 * datagram to the lines. Its size is fixed; unused parts take no physical memory.
 */
export interface Workspace {
  readonly memory: WorkspaceMemory;
  readonly bytes: Buffer;
  readonly view: DataView;
  /**
   * Allocates zeroed memory permanently.
   *
   * @returns its offset, a multiple of 64. At least eight bytes behind it may be read and written, too.
   * @throws RangeError if the workspace has too little room.
   */
  allocate(bytes: number): number;
  /** Claims the kernel's part. @returns false if it is taken already: a workspace has one kernel. */
  takeKernel(): boolean;
}

/** Number of bytes at the start of a workspace that belong to the kernel. */
export const kernelReserve = 16 * 1024 * 1024;
const page = 65_536;
const maxPages = 65_536;
const alignment = 64;
/** More than the kernel reads behind anything, when it only asks for memory that may be needed. */
const slack = 256;

/** Creates the memory of a workspace. @param bytes beyond the kernel's own, with the slack of each allocation. @throws RangeError above 4 GiB. */
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
    // The engine reserves 8 GiB of address space, which `ulimit -v` may forbid.
    if (error instanceof RangeError && pages <= maxPages) return undefined;
    throw error;
  }
}

/** Creates a workspace. @param taken bytes behind the kernel's that others use. */
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

/** Returns the bytes that {@link Workspace.allocate} takes for this many. */
export function spaceFor(bytes: number): number {
  return Math.ceil((bytes + slack) / alignment) * alignment;
}

/**
 * The additions of an enricher for lines that a compiled decoder writes without making a record first: it copies bytes into the line.
 * These bytes equal the rendered fields that {@link Enricher.enrich} adds, in the same order: first `numbers`, then `apps`, then
 * `addresses`, each in the order of its list.
 */
export interface LineEnricher {
  /** Called before the records of each datagram, so that the clock is read once for all of them. */
  begin(): void;
  readonly numbers: readonly NumberAdditions[];
  readonly apps?: readonly AppAdditions[];
  readonly addresses: readonly AddressAdditions[];
  /**
   * Returns the fields that all records of an exporter get, behind those of its address; undefined if the records must become fields.
   * Called once per datagram.
   *
   * @param text the fields that its address adds, valid until the call returns.
   */
  readonly exporter?: ((exporter: string, text: RenderedFields) => RenderedFields | undefined) | undefined;
  /** Reports whether additions to an exporter's records may conflict with names in them, so that the records must become fields. */
  readonly needsFields?: ((exporter: string) => boolean) | undefined;
  /** The workspace that holds the tables of its addresses; undefined if it has none. */
  readonly workspace?: Workspace | undefined;
}

/** The position of an object in a record, for {@link AddressAdditions}. */
export const lineObjects = { src: 0, dst: 1, export: 2 } as const;

/** The additions of addresses, in a table of a workspace with the layout of {@link addressLayout}. */
export interface AddressAdditions {
  /** No address adds more bytes than this. */
  readonly maxLength: number;
  /** The offset of the table's control block. */
  readonly control: number;
  /** Returns the scopes of addresses. Absent if there are none. */
  readonly scopes?: (() => LineScopes) | undefined;
  /**
   * Copies the fields that an address of 4 or 16 bytes adds below its object to the start of `into`. An IPv4-mapped address counts as IPv4.
   *
   * @param place one of {@link lineObjects}, with the number of its scope in the bits above.
   * @returns the number of bytes; -1 if the record must become fields, because the additions may conflict with names in it.
   */
  append(place: number, address: DataView, into: DataView): number;
  /**
   * Looks up an address of four words that the table lacks or whose entry is out of date. IPv4 comes in its mapped form.
   *
   * @returns the offset of its slot, valid until the next lookup.
   */
  readonly locate: (place: number, a: number, b: number, c: number, d: number) => number;
  /**
   * Looks up addresses that the table lacks or whose entries are out of date, at most {@link addressLayout.maxListed}, so that their memory
   * accesses overlap.
   *
   * @param at the offset of their list in the workspace, in the form of {@link addressLayout}.
   * @returns the number of addresses looked up. The others were known, or must be looked up when their records come.
   */
  readonly locateAll: (at: number, count: number) => number;
  /** Reserves room in front of fragments for the offsets of their fields. To be called before the first lookup. */
  keepFields(): void;
}

/** Determines the metadata scope of an address of a record. */
export interface LineScopes {
  /** Returns a number that changes with the scopes; 0 if there are none. */
  serial(): number;
  /**
   * Returns the number of the scope of an object; 0 for none. The scopes of a flow's ends depend on the exporter and on VRF, interface and
   * VLAN at ingress or egress, with their names.
   *
   * @param object one of {@link lineObjects}. @param get returns the fields of the record.
   */
  of(object: number, get: (name: string) => Value | undefined): number;
}

/** The fields to add, by number. */
export type NumberTable = Pick<ReadonlyMap<number, RenderedFields>, "get"> & {
  /** A record that itself has one of these names must become fields. */
  readonly unless?: readonly string[];
};

/** Fields that depend on the number in another field and on the exporter, such as an interface's name by its index. */
export interface NumberAdditions {
  /** The decoded field with the number. */
  readonly field: string;
  /** A second field with a number of at most 16 bits; {@link scopedNumber} of both is looked up. A record without it gets nothing. */
  readonly scope?: string;
  /** The names of the added fields. A record that already has one of them gets nothing, even if an earlier addition put it there. */
  readonly adds: readonly string[];
  /**
   * Returns the additions by number for the records of an exporter; undefined if there are none. Called once per datagram. Returns the same
   * object until the additions change, because callers cache what they derive from it.
   *
   * @param text the fields that the address of the exporter adds, valid until the call returns.
   */
  tableFor(exporter: string, text: RenderedFields): NumberTable | undefined;
  /** Called with the number of a datagram's records that got the field. */
  added(records: number): void;
  /** True if it gives at once what others give one by one, and so comes before them. */
  readonly isWhole?: boolean;
}

/** Applications by the address and the port of an end of a flow. A record that has `app.name` gets nothing. */
export interface AppAdditions {
  /** No application adds more bytes than this. */
  readonly maxLength: number;
  /** Returns a bit for each port with applications: a new object after each change, undefined if there are none. Called once per datagram. */
  ports(): Uint8Array | undefined;
  /**
   * Returns the fields that one of the ends adds. An IPv4-mapped address counts as IPv4.
   *
   * @param source, destination the addresses, of 4 or 16 bytes.
   * @param sourcePort, destinationPort the ports; -1 skips this end.
   */
  find(
    from: DataView,
    source: number,
    sourceLength: number,
    sourcePort: number,
    destination: number,
    destinationLength: number,
    destinationPort: number,
  ): AppText | undefined;
  /** Called with the number of a datagram's records that got an application. */
  added(records: number): void;
}

/** The fields that an application adds, below `app.`. */
export interface AppText {
  readonly text: RenderedFields;
  /** True if its names may conflict with others in the record, so that they must become fields. */
  readonly needsFields: boolean;
}

/** Combines a number and its scope into one number. */
export function scopedNumber(scope: number, number: number): number {
  return scope * 2 ** 32 + number;
}

/** Returns the scope in a result of {@link scopedNumber}. */
export function scopeOf(scoped: number): number {
  return Math.floor(scoped / 2 ** 32);
}

/** Joins the line enrichers of enrichers that run one after the other; undefined if one of them is missing. */
export function joinLineEnrichers(parts: readonly (LineEnricher | undefined)[]): LineEnricher | undefined {
  const present = parts.filter((part) => part !== undefined);
  if (present.length < parts.length) return undefined;
  const workspaces = new Set(present.flatMap(({ workspace }) => workspace ?? []));
  return {
    begin() {
      for (const part of present) part.begin();
    },
    needsFields: (exporter) => present.some((part) => part.needsFields?.(exporter) === true),
    exporter: present.find(({ exporter }) => exporter !== undefined)?.exporter,
    workspace: workspaces.size === 1 ? [...workspaces][0] : undefined,
    numbers: present
      .flatMap(({ numbers }) => numbers)
      .toSorted((a, b) => Number(b.isWhole ?? false) - Number(a.isWhole ?? false)),
    apps: present.flatMap(({ apps = [] }) => apps),
    addresses: present.flatMap(({ addresses }) => addresses),
  };
}

/** Adds known facts about addresses, ports and interfaces to a record. Never waits and never throws. */
export interface Enricher {
  /**
   * Adds fields to a record.
   *
   * @param rendered for a record that is about to become a line: fields with names that no other field of the record can have
   *   may go there instead of into the record.
   */
  enrich(record: RecordFields, rendered?: RenderedFields[]): void;
  /** The same additions for lines that are written without a record. If absent, every record becomes fields: correct, but slower. */
  readonly lines?: LineEnricher | undefined;
}
