import type { RenderedFields } from "./rendered-fields.ts";
import type { Workspace } from "./workspace.ts";

/**
 * What an enricher adds, for lines that a compiled decoder writes without making a record first: bytes are copied into the
 * line. The bytes are those that the enricher's fields become on the other way, in the same order: first `numbers`, then `apps`,
 * then `addresses`, each in the order of its list.
 */
export interface LineEnricher {
  /** Called before the records of each datagram: the place to look at the clock. */
  begin(): void;
  readonly numbers: readonly NumberAdditions[];
  readonly apps?: readonly AppAdditions[];
  readonly addresses: readonly AddressAdditions[];
  /** Whether what is to be added to records of an exporter may meet other names in them, so that they must become fields. */
  readonly needsFields?: ((exporter: string) => boolean) | undefined;
  /** Where the tables of its addresses lie; undefined when it has none. */
  readonly workspace?: Workspace | undefined;
}

/** The position of an object in a record, for {@link AddressAdditions}. */
export const lineObjects = { src: 0, dst: 1, export: 2 } as const;

/** What is known of addresses. */
export interface AddressAdditions {
  /** No address adds more bytes than this. */
  readonly maxLength: number;
  /**
   * Copies what an address adds below its object to `into` at `end`; up to eight bytes behind what is added may be
   * overwritten. An IPv4-mapped address is the IPv4 address.
   *
   * @param object of {@link lineObjects}.
   * @param length 4 or 16 bytes from `at`.
   * @param hasVlan whether the record has `<object>.vlan.tag.id`, which is then not added.
   * @param system what the record has at `<object>.as.asn`; absent or -1 when it has none.
   * @returns where what was added ends; -1 when the record must become fields, because what is to be added may meet
   *   other names in it.
   */
  append(
    object: number,
    from: DataView,
    at: number,
    length: number,
    hasVlan: boolean,
    into: DataView,
    end: number,
    system?: number,
  ): number;
  /**
   * Copies what both ends of a flow add together. Called for each record behind what its source, its destination and its
   * exporter add, unless one of them made it become fields.
   *
   * @returns where what was added ends, at most {@link AddressAdditions.maxLength} bytes further.
   */
  readonly finish?: ((into: DataView, end: number) => number) | undefined;
  /** For those who read the tables by themselves. */
  readonly table?: AddressTableAccess | undefined;
}

/** A table of addresses in a workspace, laid out as {@link addressLayout} says. */
export interface AddressTableAccess {
  /** The place of its control block. */
  readonly control: number;
  /**
   * Looks an address of four words up that is not in the table, or no longer right there; IPv4 comes in its mapped form.
   *
   * @returns the place of its slot, right until something else is asked for.
   */
  readonly locate: (object: number, a: number, b: number, c: number, d: number) => number;
  /**
   * Puts addresses into the table that are not there, or no longer right, at most {@link addressLayout.maxListed}: what they wait for, they
   * wait for together.
   *
   * @param at where they are listed in the workspace, as {@link addressLayout} says.
   * @returns how many were looked up; the others were known, or are to be asked for when their turn comes.
   */
  readonly locateAll: (at: number, count: number) => number;
  /** Asks for room in front of texts for where their fields begin, before anything is looked up. */
  readonly keepFields: () => void;
}

/** What is added by a number. */
export type NumberTable = Pick<ReadonlyMap<number, RenderedFields>, "get">;

/** A field that follows from the number that another one has, by the exporter: the name of an interface by its index. */
export interface NumberAdditions {
  /** The decoded field with the number. */
  readonly field: string;
  /** A second one, of at most 16 bits; what is looked up is {@link scopedNumber}. A record without it gets nothing. */
  readonly scope?: string;
  /** The name of what is added; a record that has it already keeps its own, also from additions earlier in the list. */
  readonly adds: string;
  /** What each number adds in the records of an exporter; undefined when nothing. Asked for once a datagram. */
  tableFor(exporter: string): NumberTable | undefined;
  /** Called with how many records of a datagram got the field. */
  added(records: number): void;
}

/** Applications that follow from the address and the port of an end of a flow. A record that has `app.name` gets nothing. */
export interface AppAdditions {
  /** No application adds more bytes than this. */
  readonly maxLength: number;
  /** A bit for each port that there are applications at; another object after each change, undefined where there are none. Asked for once a datagram. */
  ports(): Uint8Array | undefined;
  /**
   * What one of the ends adds. An IPv4-mapped address is the IPv4 address.
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

/** What an application adds: fields below `app.`. */
export interface AppText {
  readonly text: RenderedFields;
  /** Whether it adds what may meet other names in the record, which must become fields then. */
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
    workspace: workspaces.size === 1 ? [...workspaces][0] : undefined,
    numbers: present.flatMap(({ numbers }) => numbers),
    apps: present.flatMap(({ apps = [] }) => apps),
    addresses: present.flatMap(({ addresses }) => addresses),
  };
}
