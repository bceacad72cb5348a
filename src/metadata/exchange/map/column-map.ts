import type { UdmContext } from "../../model/udm-entry.ts";

/** A field of an entry that a column gives; `metadata` alone is the whole map. */
export type Target = (typeof plainTargets)[number] | `metadata:${string}`;
export const plainTargets = ["key", "name", "tags", "vlan", "internal", "contexts", "metadata", "otherFields"] as const;

/**
 * What is taken of a cell: `host` the address of an address with a prefix length (`192.0.2.1/24` → `192.0.2.1`), `number` the
 * last whole number in it (`servers (20)` → `20`).
 */
export type Take = (typeof takes)[number];
export const takes = ["host", "number"] as const;

/** One way from columns to a field. */
export interface ColumnRule {
  /** Columns of a sheet, or paths in an object (`tenant.name`); the first that has something counts. */
  readonly from: readonly string[];
  readonly to: Target;
  /** Of a key: columns with the prefix length or the network mask. */
  readonly mask?: readonly string[];
  /** Of a key: columns with the last address of a range. */
  readonly until?: readonly string[];
  readonly take?: Take;
  /** What parts the texts of one cell: tags, contexts. */
  readonly split?: string;
  /** What an empty cell stands for. */
  readonly default?: string;
  /** Texts in place of others; a text that is not named stays. */
  readonly values?: ReadonlyMap<string, string>;
  /** Whether a text without this column is no fault. */
  readonly isOptional?: boolean;
}

/** Values that do not come from a column. */
export interface FixedValues {
  readonly name?: string;
  readonly tags?: readonly string[];
  readonly vlan?: bigint;
  readonly internal?: boolean;
  readonly contexts?: readonly UdmContext[];
  readonly metadata?: ReadonlyMap<string, string>;
}

/** How rows become entries. Several rules for one field: the first one that gives something counts; tags are united. */
export interface ColumnMap {
  readonly rules: readonly ColumnRule[];
  /** Columns that no rule takes: not used, metadata under their own name, or a fault. `metadata:x` is always metadata `x`. */
  readonly rest: "ignore" | "metadata" | "refuse";
  /** For entries to whom the rows give nothing there; tags are added to those of the row. */
  readonly defaults: FixedValues;
  /** In place of what rows say. */
  readonly constants: FixedValues;
  /** Only rows with one of these texts in the column. */
  readonly where: ReadonlyMap<string, readonly string[]>;
  /** Of a key in several rows: a fault, or one of them. */
  readonly duplicates: "refuse" | "first" | "last";
  /** Our own form: names of columns as they are, no blanks taken away, `\` before what would otherwise mean something else. */
  readonly isExact: boolean;
}

/** Names of columns are compared without case, blanks, hyphens and underscores. */
export function plainName(column: string): string {
  return column.toLowerCase().replaceAll(/[\s_*-]+/g, "");
}

export const metadataColumn = "metadata:";
