import type { RecordFields, Value, Scalar } from "../../record/index.ts";
import type { Syntax, Unit, SyntaxKind } from "./syntaxes-and-units.ts";
import { convertValue, readNumber, type SnmpValue } from "./convert-value.ts";

/** The least and the greatest plausible reading. */
export type Bounds = readonly [least: number, most: number];

/** The state of a field whose value was left out because it is implausible. */
const implausible = "implausible";

/** The units that only sensors have: see {@link completeSensor}. */
type SensorUnit = Unit | "Wh" | "m3/min" | "rpm";

/**
 * The bounds by unit. They are wide. A value outside is a mark for "no reading" that the MIB does not mention (−128, −255, 65408, 2^31
 * − 1), a number that has lost its sign or scale, or a fault of the agent. The bounds allow for air and electronics, the largest feeds
 * of a data centre, and aggregates of the fastest interfaces.
 */
export const boundsByUnit: Readonly<Partial<Record<SensorUnit, Bounds>>> = {
  "%": [0, 1000],
  A: [-100_000, 100_000],
  By: [0, Number.POSITIVE_INFINITY],
  Cel: [-100, 250],
  Hz: [0, 1e13],
  V: [-1_000_000, 1_000_000],
  VA: [0, 1e9],
  W: [-1e9, 1e9],
  "W.h": [0, 1e15],
  Wh: [0, 1e15],
  "bit/s": [0, 5e14],
  dBm: [-200, 100],
  "m3/min": [0, 1e6],
  ms: [0, Number.POSITIVE_INFINITY],
  rpm: [0, 300_000],
};

/** The names of shares of a whole. A load or a ratio may be more than 100 %, and rounding makes 100 a little more. */
const shareOfWhole = /(?:^|\.)(?:cpu|memory|storage|disk|heap|charge|humidity)\.(?!(?:\w+\.)?load\.)/;
const shareBounds: Bounds = [0, 101];

/** The power of light in a fibre. A radio receives less: its noise is at -100 dBm. */
const opticalPower = /^transceiver\..*power$/;
const opticalBounds: Bounds = [-70, 70];

const counterBounds: Bounds = [0, Number.POSITIVE_INFINITY];

/** Returns the bounds of an attribute by its syntax; undefined if every number is plausible. */
export function boundsOf(field: string, { unit }: Syntax, isCounter: boolean): Bounds | undefined {
  if (isCounter) return counterBounds;
  if (unit === "%" && shareOfWhole.test(field)) return shareBounds;
  if (unit === "dBm" && opticalPower.test(field)) return opticalBounds;
  return unit && boundsByUnit[unit];
}

/** Reports whether a value is a reading outside its bounds. */
export function isOutside(value: Value | undefined, bounds: Bounds | undefined): boolean {
  if (bounds === undefined || (typeof value !== "number" && typeof value !== "bigint")) return false;
  return value < bounds[0] || value > bounds[1];
}

/** Returns the name of the field that says why another field is not in the record. */
export function stateField(field: string): string {
  return `${field.replace(/\.(?:pct|bytes)$/, "")}_state.name`;
}

/** Adds the state of a reading that is left out, unless the record has one. */
export function putImplausible(fields: RecordFields, field: string): void {
  const state = stateField(field);
  if (!fields.has(state)) fields.set(state, implausible);
}

const sensorReadings = [
  "hw.sensor.value",
  "hw.sensor.limit.high",
  "hw.sensor.limit.high_critical",
  "hw.sensor.limit.low",
  "hw.sensor.limit.low_critical",
];

/**
 * Removes the readings of a sensor that are implausible for its unit, if only the row has the unit.
 *
 * @param ranged the fields whose definition gives a range.
 * @returns the number of readings removed.
 */
export function dropImplausibleSensor(fields: RecordFields, ranged: ReadonlySet<string>): number {
  const unit = fields.get("hw.sensor.unit");
  const bounds = typeof unit === "string" ? boundsByUnit[unit as SensorUnit] : undefined;
  let dropped = 0;
  for (const field of sensorReadings) {
    if (ranged.has(field) || !isOutside(fields.get(field), bounds)) continue;
    fields.delete(field);
    putImplausible(fields, field);
    dropped++;
  }
  return dropped;
}

/** The severities of a state, and the numbers that stand for them in metrics. */
export const stateSeverities = ["ok", "warning", "critical", "unknown"] as const;
export type StateSeverity = (typeof stateSeverities)[number];

/**
 * The severities by the words of a state, for states whose definition gives none. The first pattern that matches counts. Words of
 * trouble come before the others, but after negated ones.
 */
const severityWords: readonly (readonly [RegExp, StateSeverity])[] = [
  [/\bno(?:t|n)?[ -]?(?:\w+[ -])?(?:fault|alarm|fail|error|problem|warning|trouble|issue)|\bfault ?free/, "ok"],
  [/\bnon[ -]?critical|\bnear overload|\bout of sync|\bunsynch/, "warning"],
  [
    /\bnot[ -]?(?:present|avail|applicable|install\w*|detected|monitored|supported|found|configured|specified|equipped|initialized|used|in use)/,
    "unknown",
  ],
  [
    /\b(?:unknown|undefined|unspecified|absent|empty|none|n\/?a|uninstalled|unsupported|unsupport|disabled|unused)\b/,
    "unknown",
  ],
  [
    /\bnot[ -]?\w|\bnon ?(?:operational|recoverable)|\b(?:abnormal|inactive|unavailable|unhealthy|inoperative|unrecoverable)\b/,
    "critical",
  ],
  [
    /fail|fault|critical|critial|error|crash|alarm|emergency|\bdead\b|\bdown\b|\bbad\b|\bbroken\b|\bshut ?down\b|\blost\b|\bloss\b/,
    "critical",
  ],
  [
    /\bover ?(?:temp|load|current|voltage|heat)|\bblown\b|\btripped\b|\bdepleted\b|\bmajor\b|\bred\b|\boff ?line\b|\bout of service|\bshort circuit|\bmissing\b/,
    "critical",
  ],
  [
    /\bno (?:ac|dc|power|input|battery|output|media|comm)|\binoperable\b|\bproblem\b|\bdisconnect|\bmalfunction|\bdanger|\bblocked\b|\bmismatch/,
    "critical",
  ],
  [
    /warn|degrad|\bminor\b|\bmarginal\b|\bcaution\b|\blow(?:er)?\b|\bhigh(?:er)?\b|\bbelow\b|\babove\b|\bweak\b|\byellow\b/,
    "warning",
  ],
  [
    /rebuil|\bpartial|under ?speed|over ?speed|discharg|\bon batter|\bbypass|\bforeign\b|\bremoved\b|\bnon redundant\b/,
    "warning",
  ],
  [/\btest|\bcheck\b|\bpending\b|\bstopped\b|\bsuspended\b|\bnear overload/, "warning"],
  [
    /\b(?:ok|okay|normal|good|fine|up|on|on ?line|active|present|operational|running|healthy|nominal|optimal|optimum|enabled?)\b/,
    "ok",
  ],
  [
    /\b(?:in ?service|ready|connected|connect|working|powered|charg\w+|floating|resting|stand ?by|redundant|in sync|synchroni[sz]ed|green)\b/,
    "ok",
  ],
  [
    /\b(?:delivering power|full|clear(?:ed)?|functional|functioning|in operation|inserted|installed|available|established|plugged|in|satisfactory)\b/,
    "ok",
  ],
  [
    /\b(?:success\w*|operable|equipped|master|slave|backup|primary|secondary|idle|associated|alive|open ?confirmed|joined|registered)\b/,
    "ok",
  ],
];

/** The severities of labels, which are few and recur. */
const severityOfLabel = new Map<string, StateSeverity>();

/** The most labels to keep, because devices may send any text. */
const maxLabels = 10_000;

/** Returns the form in which labels are compared: `notPresent` and `NOT_PRESENT` become `not present`. */
export function plainLabel(label: string): string {
  return label
    .trim()
    .replaceAll(/([a-z])([A-Z])/g, "$1 $2")
    .replaceAll(/[\s_]+/g, " ")
    .toLowerCase();
}

function severityByWords(label: string): StateSeverity {
  let severity = severityOfLabel.get(label);
  if (severity !== undefined) return severity;
  severity = severityWords.find(([words]) => words.test(label))?.[1] ?? "unknown";
  if (severityOfLabel.size < maxLabels) severityOfLabel.set(label, severity);
  return severity;
}

/** Returns the severity of a state: that of its definition, or otherwise that of its words. */
function severityOf(said: ReadonlyMap<string, StateSeverity>, label: string): StateSeverity {
  const plain = plainLabel(label);
  return said.get(plain) ?? severityByWords(plain);
}

/**
 * Matches the states of parts and of what they feed. Other states, such as those of neighbours, have a severity only by their
 * definition.
 */
const stateOfPart =
  /^(?:hw|disk|raid|storage|ups|pdu|ats|ha|stack|component|system|poe|transceiver|fc)\.(?:.*[._])?(?:state|status|health|condition)$/;

/** Reports whether the states of a field have a severity without an entry in their definition. */
export function hasSeverity(field: string, { kind }: Syntax): boolean {
  const base = field.replace(/\.name$/, "");
  return (kind === "enum-integer" || (kind === "text" && base !== field)) && stateOfPart.test(base);
}

/** The labels of enumerations by the OID (text with a leading dot) of the attribute or index part. */
export interface EnumTables {
  readonly integer: ReadonlyMap<string, ReadonlyMap<number, string>>;
  /** The labels by bit number. */
  readonly bitmap: ReadonlyMap<string, ReadonlyMap<number, string>>;
  /** The labels by OID text with a leading dot. */
  readonly oid: ReadonlyMap<string, ReadonlyMap<string, string>>;
}

/** The meanings of a number that gives the scale of another attribute. */
export const scaleKinds = ["digits", "exponent", "factor", "divisor"] as const;

/** The field of a value and the way to read it: an attribute, or a part of an index. */
export interface FieldDefinition {
  /** The name in the MIB, for attributes. */
  readonly name?: string;
  /** The name in the record. */
  readonly field: string;
  readonly syntax: Syntax;
  /** The OID as text with a leading dot. */
  readonly oidText: string;
  /** The range of its readings; records do not have readings outside. */
  readonly bounds?: Bounds | undefined;
  /** The severities of states by label, if their words do not show them. Undefined if values are no states. */
  readonly severity?: ReadonlyMap<string, StateSeverity> | undefined;
  /** The effect of another attribute of the row, or of a part of its index, on the reading. */
  readonly scale?:
    | {
        /** The name of that attribute in the MIB. */
        readonly attribute: string | undefined;
        /** The name of a part of the index, in place of the attribute. */
        readonly index: string | undefined;
        /**
         * The meaning of the number: the power of ten by which the reading is divided or multiplied, or the divisor or factor itself.
         */
        readonly as: (typeof scaleKinds)[number] | undefined;
        /** The factors for the reading, by the value of the other attribute. */
        readonly factors: ReadonlyMap<string, number> | undefined;
      }
    | undefined;
}

/** The kinds of row numbers of another table that has more facts. */
export type RelatedKind = "entity" | "lldp-port" | "host-device";

/** The rest of a field's name, and its value if there is one. */
export type RelatedFields = readonly (readonly [string, Scalar | undefined])[];

/** The names that stand for numbers on a device. */
export interface NameTables {
  readonly enums: EnumTables;
  /** Returns the name of the device's interface with this ifIndex. */
  readonly interfaceName: (index: number) => string | undefined;
  /** Returns the facts that another table has about its row with this number. */
  readonly related?: (kind: RelatedKind, index: number) => RelatedFields;
}

/**
 * Adds one value to a record. Most syntaxes give one field.
 *
 * - An enumeration gives `<field>.name`. It gives `<field>.id` or `<field>.oid` if its syntax keeps it or there is no label.
 * - A bitmap's `.name` is the list of the bits that are set.
 * - An interface index gives `<field>.index` and `<field>.name`.
 * - A MAC address below a name that ends in `.mac` gives `<field>.addr`.
 * - A state with a severity also gives `<field>.severity`.
 *
 * A field that already ends in such a word keeps it. Empty text, and a bitmap without a set bit, give nothing.
 *
 * @returns false if the value does not fit the syntax; then nothing is added.
 */
export function putValue(fields: RecordFields, target: FieldDefinition, value: SnmpValue, names: NameTables): boolean {
  const { kind } = target.syntax;
  if (kind === "enum-bitmap") return putBits(fields, target, value, names.enums);
  const converted = convertValue(target.syntax, value);
  if (converted === undefined) return false;
  if (kind === "interface") {
    putInterface(fields, target, Number(converted), names);
  } else if (isRelated(kind)) {
    putRelated(fields, target, kind, Number(converted), names);
  } else if (kind === "enum-integer") {
    const label = names.enums.integer.get(target.oidText)?.get(Number(converted));
    putLabel(fields, target, "id", converted, label);
  } else if (kind === "enum-oid") {
    const label = names.enums.oid.get(target.oidText)?.get(String(converted));
    putLabel(fields, target, "oid", converted, label);
  } else if (converted !== "") {
    fields.set(plainName(target), converted);
    if (target.severity !== undefined)
      fields.set(suffixed(target, "severity"), severityOf(target.severity, String(converted)));
  }
  return true;
}

/** Returns the names that {@link putValue} may give to values of this definition. */
export function fieldNames(target: FieldDefinition): string[] {
  const names = namesOfValue(target);
  return target.severity === undefined ? names : [...names, severityField(target)];
}

/** Returns the name of the field for the severity of a state. */
export function severityField(target: FieldDefinition): string {
  return suffixed(target, "severity");
}

function namesOfValue(target: FieldDefinition): string[] {
  const { kind } = target.syntax;
  if (kind === "interface") return [suffixed(target, "index"), suffixed(target, "name")];
  if (isRelated(kind)) return [target.field, ...relatedNames[kind].map((rest) => `${relatedBase(target)}.${rest}`)];
  if (kind === "enum-integer") return [suffixed(target, "id"), suffixed(target, "name")];
  if (kind === "enum-oid") return [suffixed(target, "oid"), suffixed(target, "name")];
  return [kind === "enum-bitmap" ? suffixed(target, "name") : plainName(target)];
}

/** Returns the name of a value that gives one field. */
function plainName({ field, syntax }: FieldDefinition): string {
  return syntax.kind === "mac" && field.endsWith(".mac") ? `${field}.addr` : field;
}

type FieldSuffix = "name" | "id" | "oid" | "index" | "severity";

/** The names are made once for each definition, because every row needs them. */
const suffixedNames = new WeakMap<FieldDefinition, Readonly<Record<FieldSuffix, string>>>();

/** Returns the name of the field with this last word, in place of such a word at its end. */
function suffixed(target: FieldDefinition, suffix: FieldSuffix): string {
  let names = suffixedNames.get(target);
  if (names === undefined) {
    const base = target.field.replace(/\.(?:name|id|oid|index)$/, "");
    names = {
      name: `${base}.name`,
      id: `${base}.id`,
      oid: `${base}.oid`,
      index: `${base}.index`,
      severity: `${base}.severity`,
    };
    suffixedNames.set(target, names);
  }
  return names[suffix];
}

/** The fields that may be added for each kind, after the name of the number without its last word. */
const relatedNames: { readonly [kind in RelatedKind]: readonly string[] } = {
  entity: ["name", "class.name", "slot"],
  "lldp-port": ["name"],
  "host-device": ["name"],
};

export function isRelated(kind: SyntaxKind): kind is RelatedKind {
  return kind in relatedNames;
}

function relatedBase({ field }: FieldDefinition): string {
  return field.replace(/\.(?:index|number)$/, "");
}

function putRelated(
  fields: RecordFields,
  target: FieldDefinition,
  kind: RelatedKind,
  index: number,
  names: NameTables,
): void {
  fields.set(target.field, index);
  const base = relatedBase(target);
  // If the number has the field's whole name, no further field can lie below it.
  if (base === target.field) return;
  for (const [rest, value] of names.related?.(kind, index) ?? []) {
    if (value !== undefined) fields.set(`${base}.${rest}`, value);
  }
}

function putInterface(fields: RecordFields, target: FieldDefinition, index: number, names: NameTables): void {
  fields.set(suffixed(target, "index"), index);
  const name = names.interfaceName(index);
  if (name !== undefined) fields.set(suffixed(target, "name"), name);
}

function putLabel(
  fields: RecordFields,
  target: FieldDefinition,
  idSuffix: FieldSuffix,
  id: Scalar,
  label: string | undefined,
): void {
  if (label === undefined || target.syntax.keepsId) fields.set(suffixed(target, idSuffix), id);
  if (label !== undefined) fields.set(suffixed(target, "name"), label);
  if (target.severity !== undefined)
    fields.set(suffixed(target, "severity"), severityOf(target.severity, label ?? String(id)));
}

/** The most octets of a bitmap. No module has more than some dozens of bits, and each set bit is a text in the record. */
const maxBitmapOctets = 64;

/**
 * Adds the bits of a bitmap. BITS count from the most significant bit of the first octet (RFC 2578), the bits of a number from the
 * least.
 */
function putBits(fields: RecordFields, target: FieldDefinition, value: SnmpValue, enums: EnumTables): boolean {
  const labels = enums.bitmap.get(target.oidText);
  const bits: number[] = [];
  if (value.type === "OctetString" && value.value instanceof Uint8Array) {
    if (value.value.length > maxBitmapOctets) return false;
    for (const [i, octet] of value.value.entries()) {
      for (let bit = 0; bit < 8; bit++) if (octet & (0x80 >> bit)) bits.push(i * 8 + bit);
    }
  } else {
    const number = readNumber(value);
    if (number === undefined || number < 0 || (typeof number === "number" && !Number.isInteger(number))) return false;
    for (let rest = BigInt(number), bit = 0; rest > 0n; rest >>= 1n, bit++) if (rest & 1n) bits.push(bit);
  }
  const set = bits.map((bit) => labels?.get(bit) ?? String(bit));
  if (set.length > 0) fields.set(suffixed(target, "name"), set);
  if (target.severity !== undefined) fields.set(suffixed(target, "severity"), worstOf(target.severity, set));
  return true;
}

const fromWorst: readonly StateSeverity[] = ["critical", "warning", "unknown"];

/** Returns the worst severity of the labels; no set bit is no trouble. */
function worstOf(said: ReadonlyMap<string, StateSeverity>, labels: readonly string[]): StateSeverity {
  const all = new Set(labels.map((label) => severityOf(said, label)));
  return fromWorst.find((severity) => all.has(severity)) ?? "ok";
}

/** A number that only goes up, or one that goes up and down. */
export type MetricKind = "counter" | "gauge";

/**
 * Returns the name of a field as a metric. Only counters end in `_total`. Promtool expects the unit last, but it stays at its place in
 * the name of the field.
 */
export function metricName(field: string, kind: MetricKind): string {
  const name = field.replaceAll(/[^a-zA-Z0-9]/g, "_").replace(/_total$/, "");
  return `snmp_${name}${kind === "counter" ? "_total" : ""}`;
}
