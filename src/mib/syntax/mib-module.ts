import type { MibSource } from "../mib-fault.ts";

/** A name where it is used. */
export interface NameUse {
  readonly name: string;
  readonly at: number;
}

/** A step of an OID value: a name, a number, or both (`org(3)`). */
export interface OidStep {
  readonly name: string | undefined;
  readonly number: number | undefined;
  readonly at: number;
}

/** Bounds as written; `MIN` and `MAX` are infinite. */
export type Range = readonly [low: number, high: number];

/** A type where it is used. */
export interface TypeUse extends NameUse {
  /** Named numbers of an INTEGER, named bits of BITS. */
  readonly labels: readonly (readonly [label: string, number: number])[] | undefined;
  readonly ranges: readonly Range[] | undefined;
  /** Lengths of octets. */
  readonly sizes: readonly Range[] | undefined;
  /** Of `SEQUENCE OF`: the name of the row's type. */
  readonly rowType: string | undefined;
}

export interface IndexItem extends NameUse {
  readonly isImplied: boolean;
}

/** An assignment of a value: what it is, and where in the tree. */
export interface NodeDefinition extends NameUse {
  readonly macro: string;
  /** Undefined for macros whose value is no OID. */
  readonly oid: readonly OidStep[] | undefined;
  readonly type: TypeUse | undefined;
  readonly access: string | undefined;
  readonly status: string | undefined;
  readonly units: string | undefined;
  readonly description: string | undefined;
  readonly index: readonly IndexItem[] | undefined;
  readonly augments: NameUse | undefined;
  /** Of TRAP-TYPE. */
  readonly enterprise: NameUse | undefined;
  /** Of TRAP-TYPE: its number. */
  readonly trapNumber: number | undefined;
}

/** An assignment of a type: a textual convention, or another name of a type. */
export interface TypeDefinition extends NameUse {
  readonly isTextualConvention: boolean;
  readonly hint: string | undefined;
  readonly description: string | undefined;
  /** Undefined for SEQUENCE and CHOICE. */
  readonly type: TypeUse | undefined;
}

export interface Import extends NameUse {
  readonly module: NameUse;
}

/** A definition that cannot be used. */
export interface LeftOut {
  readonly name: string;
  /** What is wrong with it, with its place. */
  readonly reason: string;
}

/** A module as it is written; nothing in it is looked up yet. */
export interface MibModule {
  readonly name: string;
  readonly source: MibSource;
  /** By the name that is imported. */
  readonly imports: ReadonlyMap<string, Import>;
  readonly nodes: ReadonlyMap<string, NodeDefinition>;
  readonly types: ReadonlyMap<string, TypeDefinition>;
  /** Assignments that cannot be read. */
  readonly leftOut: readonly LeftOut[];
}
