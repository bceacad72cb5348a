import { findField, shownWith } from "../record/index.ts";
import { type Column, type ColumnType, fieldLabel, isMetadataName } from "./column.ts";

/** A field that can be asked for. */
export interface FieldStatus {
  readonly name: string;
  readonly type: "string" | "ip" | "integer" | "double" | "boolean" | "time";
  readonly isArray: boolean;
  /** True if flows can be grouped by it. */
  readonly dimension: boolean;
  /** True if rollups have it. */
  readonly isRolledUp: boolean;
  /** For people. */
  readonly label: string;
  readonly unit: string;
}

/** The fields and times that can be asked for. */
export interface ExploreStatus {
  readonly enabled: true;
  readonly store: "duckdb" | "clickhouse";
  /** The time of the oldest and of the newest record; absent: there is none. */
  readonly from?: string;
  readonly to?: string;
  readonly rows: number;
  /** On disk. */
  readonly bytes: number;
  /** The number of records that one taken record stands for at present. */
  readonly sampling: number;
  /** Records that were lost because Explore could not take them in time. */
  readonly droppedRows: number;
  readonly fields: readonly FieldStatus[];
  readonly retention: { readonly hours: number; readonly bytes: number };
  /** Sums by minute, which are kept for longer; absent: there are none. */
  readonly rollups?: Pick<ExploreStatus, "from" | "to" | "retention"> & Partial<Pick<ExploreStatus, "bytes">>;
}

/** What callers who are limited to scopes are told: nothing of how much others send, and no key of metadata, for it may be one of others. */
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

/** Counters and times are added up and divided into buckets, and are no keys. */
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
