import { heldValue, type HeldValue } from "../values/held-value.ts";
import { readNumber } from "../values/read-number.ts";
import type { PolledRows } from "./poll-object.ts";
import type { PolledColumn, PolledObject } from "./poll-plan.ts";

/** An interface as people are shown it. What the device does not say, or two polls do not give yet, is left out. */
export interface InterfaceView {
  readonly index: number;
  readonly name?: string;
  readonly alias?: string;
  readonly admin?: string;
  readonly oper?: string;
  /** Of the interface. */
  readonly bitsPerSecond?: number;
  readonly inBitsPerSecond?: number;
  readonly outBitsPerSecond?: number;
  readonly inErrorsPerSecond?: number;
  readonly outErrorsPerSecond?: number;
  readonly inDiscardsPerSecond?: number;
  readonly outDiscardsPerSecond?: number;
}

/** Rates of a device's interfaces from the last two polls of their counters (IF-MIB, RFC 2863). */
export interface InterfaceRates {
  /** @param at monotonic milliseconds. */
  see(object: PolledObject, polled: PolledRows, at: number): void;
  /** What was counted before says nothing any more: the device has restarted, or its interfaces have other numbers. */
  forget(): void;
  view(names: ReadonlyMap<number, string>): readonly InterfaceView[];
}

type Rate = Exclude<keyof InterfaceView, "index" | "name" | "alias" | "admin" | "oper" | "bitsPerSecond">;

/** Columns of their own, for values of two widths must not be compared. */
const counters = [
  "inOctets",
  "outOctets",
  "hcInOctets",
  "hcOutOctets",
  "inErrors",
  "outErrors",
  "inDiscards",
  "outDiscards",
] as const;
const wholes = ["admin", "oper", "speed", "highSpeed"] as const;
type Meaning = (typeof counters)[number] | (typeof wholes)[number] | "alias";

interface Column {
  readonly meaning: Meaning;
  /** Where a counter starts again; undefined: it is too wide to get there between two polls. */
  readonly wrapsAt?: number;
}

const counter32 = 2 ** 32;
const ifEntry = ".1.3.6.1.2.1.2.2.1";
const ifXEntry = ".1.3.6.1.2.1.31.1.1.1";

const columns: ReadonlyMap<string, Column> = new Map<string, Column>([
  [`${ifEntry}.5`, { meaning: "speed" }],
  [`${ifEntry}.7`, { meaning: "admin" }],
  [`${ifEntry}.8`, { meaning: "oper" }],
  [`${ifEntry}.10`, { meaning: "inOctets", wrapsAt: counter32 }],
  [`${ifEntry}.13`, { meaning: "inDiscards", wrapsAt: counter32 }],
  [`${ifEntry}.14`, { meaning: "inErrors", wrapsAt: counter32 }],
  [`${ifEntry}.16`, { meaning: "outOctets", wrapsAt: counter32 }],
  [`${ifEntry}.19`, { meaning: "outDiscards", wrapsAt: counter32 }],
  [`${ifEntry}.20`, { meaning: "outErrors", wrapsAt: counter32 }],
  [`${ifXEntry}.6`, { meaning: "hcInOctets" }],
  [`${ifXEntry}.10`, { meaning: "hcOutOctets" }],
  [`${ifXEntry}.15`, { meaning: "highSpeed" }],
  [`${ifXEntry}.18`, { meaning: "alias" }],
]);

/** What each rate is made of, the first that there is. */
const rates: Readonly<Record<Rate, { readonly of: readonly (typeof counters)[number][]; readonly factor: number }>> = {
  inBitsPerSecond: { of: ["hcInOctets", "inOctets"], factor: 8 },
  outBitsPerSecond: { of: ["hcOutOctets", "outOctets"], factor: 8 },
  inErrorsPerSecond: { of: ["inErrors"], factor: 1 },
  outErrorsPerSecond: { of: ["outErrors"], factor: 1 },
  inDiscardsPerSecond: { of: ["inDiscards"], factor: 1 },
  outDiscardsPerSecond: { of: ["outDiscards"], factor: 1 },
};

/** ifAdminStatus, ifOperStatus. */
const states = ["", "up", "down", "testing", "unknown", "dormant", "not present", "lower layer down"] as const;

/** Of so many interfaces of a device at most. */
const maxInterfaces = 20_000;
/** Numbers of an interface: each counter's last value and its rate, then the rest. */
const width = 2 * counters.length + wholes.length;

/** Thousands of devices have dozens of interfaces each: a row of numbers for each, and nothing else. */
export function createInterfaceRates(): InterfaceRates {
  const slots = new Map<number, number>();
  const aliases = new Map<number, string>();
  /** When each column was read last, monotonic milliseconds. */
  const readAt = new Map<string, number>();
  let numbers = new Float64Array(0);

  const slotOf = (index: number): number | undefined => {
    const known = slots.get(index);
    if (known !== undefined || slots.size === maxInterfaces) return known;
    const slot = slots.size * width;
    slots.set(index, slot);
    if (slot + width > numbers.length) {
      const larger = new Float64Array(Math.max(8 * width, 2 * numbers.length)).fill(Number.NaN);
      larger.set(numbers);
      numbers = larger;
    }
    return slot;
  };

  const count = (place: number, { wrapsAt }: Column, value: number, elapsed: number | undefined): void => {
    const before = numbers[place] as number;
    numbers[place] = value;
    const change = value - before;
    const more = change < 0 && wrapsAt !== undefined ? change + wrapsAt : change;
    const isKnown = elapsed !== undefined && elapsed > 0 && more >= 0;
    numbers[place + 1] = isKnown ? (more * 1000) / elapsed : Number.NaN;
  };

  const put = (index: number, column: Column, value: HeldValue, elapsed: number | undefined): void => {
    const { meaning } = column;
    if (meaning === "alias") {
      const text = typeof value.value === "string" ? Buffer.from(value.value, "latin1").toString("utf8") : "";
      if (text === "") aliases.delete(index);
      else aliases.set(index, text);
      return;
    }
    const number = readNumber(heldValue(value));
    const slot = number === undefined ? undefined : slotOf(index);
    if (slot === undefined) return;
    const whole = (wholes as readonly Meaning[]).indexOf(meaning);
    const counter = (counters as readonly Meaning[]).indexOf(meaning);
    if (whole === -1) count(slot + 2 * counter, column, Number(number), elapsed);
    else numbers[slot + 2 * counters.length + whole] = Number(number);
  };

  return {
    see(object, polled, at) {
      const seen = interfaceColumns(object);
      if (seen.length === 0) return;
      for (const { position, oid, column } of seen) {
        const last = readAt.get(oid);
        readAt.set(oid, at);
        const elapsed = last === undefined ? undefined : at - last;
        for (const row of polled.rows) {
          const value = row.values[position];
          const index = Number(row.key);
          if (value !== undefined && Number.isInteger(index)) put(index, column, value, elapsed);
        }
      }
    },
    forget() {
      slots.clear();
      aliases.clear();
      readAt.clear();
      numbers = new Float64Array(0);
    },
    view(names) {
      const all = [...new Set([...names.keys(), ...slots.keys()])].toSorted((a, b) => a - b);
      return all.map((index) => {
        const slot = slots.get(index);
        const at = (place: number): number => (slot === undefined ? Number.NaN : (numbers[slot + place] as number));
        return viewInterface(index, names.get(index), aliases.get(index), at);
      });
    },
  };
}

/** @param at the number at a place of the interface's row; NaN: not known. */
function viewInterface(
  index: number,
  name: string | undefined,
  alias: string | undefined,
  at: (place: number) => number,
): InterfaceView {
  const known = Object.entries(rates).flatMap(([rate, { of, factor }]) => {
    const value = of.map((counter) => at(2 * counters.indexOf(counter) + 1)).find((one) => !Number.isNaN(one));
    return value === undefined ? [] : [[rate, value * factor] as const];
  });
  const whole = (one: (typeof wholes)[number]): number => at(2 * counters.length + wholes.indexOf(one));
  const [admin, oper] = [states[whole("admin")], states[whole("oper")]];
  // ifSpeed ends at its largest number; ifHighSpeed rounds slow interfaces to nothing.
  const bitsPerSecond = whole("highSpeed") > 0 ? whole("highSpeed") * 1_000_000 : whole("speed");
  return {
    index,
    ...(name !== undefined && { name }),
    ...(alias !== undefined && { alias }),
    ...(admin && { admin }),
    ...(oper && { oper }),
    ...(bitsPerSecond > 0 && { bitsPerSecond }),
    ...Object.fromEntries(known),
  };
}

interface SeenColumn {
  readonly position: number;
  readonly oid: string;
  readonly column: Column;
}

const seenColumns = new WeakMap<PolledObject, readonly SeenColumn[]>();

/** Devices with the same object share it. */
function interfaceColumns(object: PolledObject): readonly SeenColumn[] {
  const known = seenColumns.get(object);
  if (known !== undefined) return known;
  const found = object.columns.flatMap(({ oid }: PolledColumn, position) => {
    const text = `.${oid.join(".")}`;
    const column = columns.get(text);
    return column === undefined ? [] : [{ position, oid: text, column }];
  });
  seenColumns.set(object, found);
  return found;
}
