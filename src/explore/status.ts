import { findField, shownWith } from "../record/index.ts";
import { type Column, type ColumnType, fieldLabel, isMetadataName } from "./column.ts";

/** A field that queries can use. */
export interface FieldStatus {
  readonly name: string;
  readonly type: "string" | "ip" | "integer" | "double" | "boolean" | "time";
  readonly isArray: boolean;
  /** True if flows can be grouped by it. */
  readonly dimension: boolean;
  /** True if rollups have it. */
  readonly isRolledUp: boolean;
  /** The label for people. */
  readonly label: string;
  readonly unit: string;
}

/** The fields and times that queries can use. */
export interface ExploreStatus {
  readonly enabled: true;
  readonly store: "duckdb" | "clickhouse";
  /** The times of the oldest and of the newest record; absent where there is none. */
  readonly from?: string;
  readonly to?: string;
  readonly rows: number;
  /** Bytes on disk. */
  readonly bytes: number;
  /** The number of records that a taken one stands for at present. */
  readonly sampling: number;
  /** The number of records lost because Explore could not take them in time. */
  readonly droppedRows: number;
  readonly fields: readonly FieldStatus[];
  readonly retention: { readonly hours: number; readonly bytes: number };
  /** Per-minute sums, which are kept for longer; absent where there are none. */
  readonly rollups?: Pick<ExploreStatus, "from" | "to" | "retention"> & Partial<Pick<ExploreStatus, "bytes">>;
}

/** Returns the status for callers who are limited to scopes. It hides how much others send, and all metadata keys, which may belong to others. */
export function limitedStatus({
  enabled,
  store,
  from,
  sampling,
  fields,
  retention,
  rollups,
}: Pick<ExploreStatus, "enabled" | "store" | "sampling" | "fields" | "retention"> &
  Pick<Partial<ExploreStatus>, "from" | "rollups">): Partial<ExploreStatus> {
  const since = (at: string | undefined): { readonly from?: string } => (at === undefined ? {} : { from: at });
  return {
    enabled,
    store,
    ...since(from),
    sampling,
    fields: fields.filter(({ name }) => shownWith(name) !== undefined && !isMetadataName(name)),
    retention,
    ...(rollups !== undefined && { rollups: { ...since(rollups.from), retention: rollups.retention } }),
  };
}

const shownTypes: Readonly<Record<ColumnType, FieldStatus["type"]>> = {
  text: "string",
  address: "ip",
  integer: "integer",
  unsigned: "integer",
  double: "double",
  boolean: "boolean",
  time: "time",
};

/** Counters and times are summed and put in buckets, so they are no keys. */
const noDimension = /^flow\.(?:scaled\.|raw\.)?(?:bytes|packets)$|timestamp$/;

export function fieldStatus({ field, type, isArray }: Column, isRolledUp: boolean): FieldStatus {
  const found = findField(field);
  return {
    name: field,
    type: shownTypes[type],
    isArray,
    dimension: !noDimension.test(field),
    isRolledUp,
    label: fieldLabel(field),
    unit: found !== undefined && "unit" in found ? found.unit : "",
  };
}
