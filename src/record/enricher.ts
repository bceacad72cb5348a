import type { RenderedFields } from "./record-fields.ts";
import type { RecordFields, Value } from "./record-fields.ts";

/** Memory that a thread can hand to another; it goes through `postMessage`. */
export interface WorkspaceMemory {
  /** Undefined where the engine runs without WebAssembly, or has no addresses for it. */
  readonly wasm: WebAssembly.Memory | undefined;
  readonly buffer: SharedArrayBuffer;
}

/**
 * The one memory in which a thread decodes: what the kernel of `src/flow/kernel` reads and writes has to lie there, from the
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

/** @param bytes in addition to the kernel's own, with the slack of each allocation. @throws RangeError for more than 4 GiB. */
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

/** Returns the bytes that {@link Workspace.allocate} takes for this many. */
export function spaceFor(bytes: number): number {
  return Math.ceil((bytes + slack) / alignment) * alignment;
}

/**
 * The additions of an enricher for lines that a compiled decoder writes without making a record first: bytes are copied into the line.
 * The bytes are those that the enricher's fields become on the other way, in the same order: first `numbers`, then `apps`, then
 * `addresses`, each in the order of its list.
 */
export interface LineEnricher {
  /** Called before the records of each datagram: the time to look at the clock. */
  begin(): void;
  readonly numbers: readonly NumberAdditions[];
  readonly apps?: readonly AppAdditions[];
  readonly addresses: readonly AddressAdditions[];
  /**
   * Returns what all records of an exporter get, behind what its address adds; undefined when they must become fields. Called once a datagram.
   *
   * @param text what its address adds, right until the call returns.
   */
  readonly exporter?: ((exporter: string, text: RenderedFields) => RenderedFields | undefined) | undefined;
  /** Tells whether additions to records of an exporter may meet other names in them, so that they must become fields. */
  readonly needsFields?: ((exporter: string) => boolean) | undefined;
  /** The workspace that holds the tables of its addresses; undefined when it has none. */
  readonly workspace?: Workspace | undefined;
}

/** The position of an object in a record, for {@link AddressAdditions}. */
export const lineObjects = { src: 0, dst: 1, export: 2 } as const;

/** The additions of addresses, in a table of a workspace that is laid out as {@link addressLayout} says. */
export interface AddressAdditions {
  /** No address adds more bytes than this. */
  readonly maxLength: number;
  /** The offset of the table's control block. */
  readonly control: number;
  /** The scopes of addresses. Left out: there are none. */
  readonly scopes?: (() => LineScopes) | undefined;
  /**
   * Copies what an address of 4 or 16 bytes adds below its object to the start of `into`. An IPv4-mapped address is the IPv4 address.
   *
   * @param place of {@link lineObjects}, with the number of its scope in the bits above.
   * @returns how many bytes that are; -1 when the record must become fields, because what is to be added may meet other names in it.
   */
  append(place: number, address: DataView, into: DataView): number;
  /**
   * Looks an address of four words up that is not in the table, or no longer right there; IPv4 comes in its mapped form.
   *
   * @returns the offset of its slot, right until something else is asked for.
   */
  readonly locate: (place: number, a: number, b: number, c: number, d: number) => number;
  /**
   * Puts addresses into the table that are not there, or no longer right, at most {@link addressLayout.maxListed}: what they wait for, they
   * wait for together.
   *
   * @param at where they are listed in the workspace, as {@link addressLayout} says.
   * @returns how many were looked up; the others were known, or are to be asked for when their records come.
   */
  readonly locateAll: (at: number, count: number) => number;
  /** Asks for room in front of fragments for where their fields begin, before anything is looked up. */
  keepFields(): void;
}

/** Says in which scope of the metadata an address of a record is. */
export interface LineScopes {
  /** Another number for other scopes; 0: there are none. */
  serial(): number;
  /**
   * Returns the number of the scope of an object; 0 for none. What it says of both ends of flows follows from the exporter and, on the way in
   * or out, from VRF, interface and VLAN, with the names of these.
   *
   * @param object of {@link lineObjects}. @param get gives the fields of the record.
   */
  of(object: number, get: (name: string) => Value | undefined): number;
}

/** The fields that each number adds. */
export type NumberTable = Pick<ReadonlyMap<number, RenderedFields>, "get"> & {
  /** Names of which a record that has one of them itself must become fields. */
  readonly unless?: readonly string[];
};

/** Fields that follow from the number that another one has, by the exporter: the name of an interface by its index. */
export interface NumberAdditions {
  /** The decoded field with the number. */
  readonly field: string;
  /** A second one, of at most 16 bits; what is looked up is {@link scopedNumber}. A record without it gets nothing. */
  readonly scope?: string;
  /** The names of what is added; a record that has one of them already gets nothing, also where additions earlier in the list gave it. */
  readonly adds: readonly string[];
  /**
   * Returns what each number adds in the records of an exporter; undefined when nothing. Called once a datagram.
   *
   * @param text what the address of the exporter adds, right until the call returns.
   */
  tableFor(exporter: string, text: RenderedFields): NumberTable | undefined;
  /** Called with how many records of a datagram got the field. */
  added(records: number): void;
  /** True if it says at once what others say one by one, and so is asked before them. */
  readonly isWhole?: boolean;
}

/** Applications that follow from the address and the port of an end of a flow. A record that has `app.name` gets nothing. */
export interface AppAdditions {
  /** No application adds more bytes than this. */
  readonly maxLength: number;
  /** A bit for each port that there are applications at; another object after each change, undefined where there are none. Asked for once a datagram. */
  ports(): Uint8Array | undefined;
  /**
   * Returns what one of the ends adds. An IPv4-mapped address is the IPv4 address.
   *
   * @param source, destination where the addresses are, of 4 or 16 bytes.
   * @param sourcePort, destinationPort -1: this end is not asked about.
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
  /** Called with how many records of a datagram got an application. */
  added(records: number): void;
}

/** The fields that an application adds, below `app.`. */
export interface AppText {
  readonly text: RenderedFields;
  /** True if it adds names that may meet others in the record, so that they must become fields. */
  readonly needsFields: boolean;
}

/** The number that stands for a number and its scope. */
export function scopedNumber(scope: number, number: number): number {
  return scope * 2 ** 32 + number;
}

/** The scope of what {@link scopedNumber} returned. */
export function scopeOf(scoped: number): number {
  return Math.floor(scoped / 2 ** 32);
}

/** Several as one, for enrichers that run one after the other; undefined when one of them is missing. */
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

/** Adds to a record what is known about what it names. Never waits and never throws. */
export interface Enricher {
  /**
   * @param rendered for a record that is about to become a line: fields that no other field of the record can have the name
   *   of may be put there instead of into the record.
   */
  enrich(record: RecordFields, rendered?: RenderedFields[]): void;
  /** The same for lines that are written without a record. Without it every record becomes fields: correct, but slower. */
  readonly lines?: LineEnricher | undefined;
}
