import type { RecordFields, Scalar } from "../../../record/index.ts";
import type { CounterType, XdrLayout } from "./xdr-layout.ts";
import { readLayout, type LayoutResult, type XdrReader } from "./xdr-reader.ts";

/** A counter record that ends with a list of entries, which become arrays side by side. */
export interface CounterTable {
  /** What comes before the entries. */
  readonly once: XdrLayout<CounterType>;
  /** Names of the arrays. */
  readonly columns: readonly string[];
  /** Reads one entry into rows; what would lie behind the end is refused by the reader. Returns whether a row has all of it. */
  readonly read: (reader: XdrReader, add: (row: readonly Scalar[]) => void) => boolean;
}

const lane = [
  "ids",
  "tx.bias.microamperes",
  "tx.power.microwatts",
  "tx.power_min.microwatts",
  "tx.power_max.microwatts",
  "tx.wavelength.nanometers",
  "rx.power.microwatts",
  "rx.power_min.microwatts",
  "rx.power_max.microwatts",
  "rx.wavelength.nanometers",
];

/** By format: optical modules ("sFlow Optical Interface Structures"), a host's adapters ("sFlow Host Structures"). */
export const counterTables: ReadonlyMap<number, CounterTable> = new Map([
  [
    10,
    {
      once: (
        [
          ["module.id", "uint32"],
          ["lanes.total", "uint32"],
          ["supply_voltage.millivolts", "uint32"],
          ["temperature.millicelsius", "int32"],
        ] satisfies [string, CounterType][]
      ).map(([name, type]) => [`optical.${name}`, type] as const),
      columns: lane.map((name) => `optical.lane.${name}`),
      read(reader, add) {
        add(lane.map(() => reader.uint32()));
        return true;
      },
    },
  ],
  [
    2001,
    {
      once: [],
      columns: ["host.adapter.netif.indexes", "host.adapter.mac.addrs"],
      /** An adapter has one address as a rule. Each makes a row; one that has none can make no row. */
      read(reader, add) {
        const index = reader.uint32();
        const addresses = reader.uint32();
        for (let i = 0; i < addresses && !reader.isCut; i++) {
          const mac = reader.value("mac");
          if (typeof mac === "string") add([index, mac]);
        }
        return addresses > 0;
      },
    },
  ],
]);

/** Puts a table into a record, unless it is cut. Each entry takes bytes, so that a claimed count means nothing. */
export function readTable(
  reader: XdrReader,
  { once, columns, read }: CounterTable,
  record: RecordFields,
): LayoutResult {
  const before = readLayout(reader, once, record);
  const count = reader.uint32();
  const rows: (readonly Scalar[])[] = [];
  let isWhole = columns.every((name) => !record.has(name));
  for (let i = 0; i < count && !reader.isCut; i++) isWhole = read(reader, (row) => void rows.push(row)) && isWhole;
  if (before.isCut || reader.isCut) return { isCut: true, isWhole: false };
  if (isWhole && rows.length > 0) {
    columns.forEach((name, column) =>
      record.set(
        name,
        rows.map((row) => row[column] as Scalar),
      ),
    );
  }
  return { isCut: false, isWhole: isWhole && reader.left === 0 };
}
