/** The effect of a syntax on a value. */
export type SyntaxKind =
  | "number"
  | "scaled"
  | "temperature"
  | "decibel"
  | "duration"
  | "text-number"
  | "text-percent"
  | "text-decibel"
  | "text"
  | "octets"
  | "lldp-chassis-id"
  | "lldp-port-id"
  | "hex"
  | "mac"
  | "address"
  | "oid"
  | "truth"
  | "date"
  | "interface"
  | "entity"
  | "lldp-port"
  | "host-device"
  | "enum-integer"
  | "enum-bitmap"
  | "enum-oid"
  | "blocks"
  | "sensor"
  | "factored"
  | "optical-power"
  | "health";

/** The base units of quantities, as in UCUM; `dBm` is decibels relative to one milliwatt. */
export type Unit =
  | "%"
  | "A"
  | "A.h"
  | "By"
  | "Cel"
  | "Hz"
  | "V"
  | "VA"
  | "W"
  | "W.h"
  | "bit/s"
  | "dB"
  | "dBm"
  | "ms"
  | "var";

/** Defines how to read the values of an attribute or index part. The only instances are those of {@link syntaxes}. */
export interface Syntax {
  readonly name: string;
  readonly kind: SyntaxKind;
  /** The factor for the base unit: the value is multiplied by `multiply` and divided by `divide`. 1 if there is no scaling. */
  readonly multiply: number;
  readonly divide: number;
  /** True if the number or OID of an enumeration is in the record beside its label. */
  readonly keepsId: boolean;
  /** The scale of a temperature. */
  readonly scale: "celsius" | "fahrenheit" | "kelvin" | undefined;
  /** The unit of the value in a record; undefined if values of the syntax have no quantity. */
  readonly unit: Unit | undefined;
}

type Extras = Partial<Omit<Syntax, "name" | "kind">>;

function syntax(name: string, kind: SyntaxKind, extras: Extras = {}): [string, Syntax] {
  return [name, { name, kind, multiply: 1, divide: 1, keepsId: false, scale: undefined, unit: undefined, ...extras }];
}

const named = (kind: SyntaxKind, names: string, extras?: Extras): [string, Syntax][] =>
  names.split(" ").map((name) => syntax(name, kind, extras));

const steps = { T: 1e12, G: 1e9, M: 1e6, K: 1e3 };
const binarySteps = { Ti: 2 ** 40, Gi: 2 ** 30, Mi: 2 ** 20, Ki: 2 ** 10 };
const words = { Mega: 1e6, Kilo: 1e3 };
const parts = { Deci: 10, Centi: 100, Milli: 1e3, Micro: 1e6, Nano: 1e9 };

const multiples = (
  table: Readonly<Record<string, number>>,
  name: (step: string) => string,
  unit: Unit,
): [string, Syntax][] =>
  Object.entries(table).map(([step, multiply]) => syntax(name(step), "scaled", { multiply, unit }));

const fractions = (name: (part: string) => string, unit?: Unit): [string, Syntax][] =>
  Object.entries(parts).map(([part, divide]) => syntax(name(part), "scaled", { divide, unit }));

/** Returns one quantity with its multiples and fractions: `PowerKiloWatt`, `PowerWatt`, `PowerMilliWatt`, `PowerCentiKiloWatt`. */
const quantity = (family: string, word: string, unit: Unit): [string, Syntax][] => [
  syntax(`${family}${word}`, "scaled", { unit }),
  ...multiples(words, (step) => `${family}${step}${word}`, unit),
  ...fractions((part) => `${family}${part}${word}`, unit),
  ...Object.entries(words).flatMap(([step, multiply]) =>
    Object.entries(parts).map(([part, divide]) =>
      syntax(`${family}${part}${step}${word}`, "scaled", { multiply, divide, unit }),
    ),
  ),
];

const temperature = (letter: string, scale: Syntax["scale"]): [string, Syntax][] =>
  Object.entries({ "": 1, ...parts, Half: 2, Per256: 256 }).map(([part, divide]) =>
    syntax(`Temperature${part}${letter}`, "temperature", { scale, divide, unit: "Cel" }),
  );

/**
 * The syntaxes that definitions may use. The base units are bits per second, bytes, percent of 100, degrees Celsius, watts,
 * volt-amperes, vars, watt-hours, ampere-hours, amperes, volts, hertz, decibels (relative to one milliwatt), and milliseconds.
 */
export const syntaxes: ReadonlyMap<string, Syntax> = new Map([
  ...named(
    "number",
    "Integer INTEGER Integer32 Unsigned32 UInteger32 Gauge Gauge32 Counter Counter32 Counter64 CounterBasedGauge64 " +
      "ZeroBasedCounter32 ZeroBasedCounter64 Float VlanId VlanIndex VlanIdOrAny InetPortNumber InetAddressPrefixLength " +
      "InetAutonomousSystemNumber",
  ),
  ...fractions((part) => `Number${part}`),
  ...named("interface", "InterfaceIndex InterfaceIndexOrZero"),
  // The record also gets fields of the row that the number refers to.
  ...named("entity", "PhysicalIndex PhysicalIndexOrZero"),
  ...named("lldp-port", "LldpPortNumber"),
  ...named("host-device", "HostDeviceIndex"),
  ...named("text", "DisplayString SnmpAdminString Utf8String OwnerString LongUtf8String"),
  ...named("octets", "OctetString"),
  ...named("hex", "HexString Opaque Bits"),
  ...named("mac", "MacAddress PhysAddress"),
  ...named(
    "address",
    "IpAddress IpAddressNoSuffix NetworkAddress InetAddress InetAddressIPv4 InetAddressIPv6 Ipv6Address",
  ),
  ...named("oid", "ObjectIdentifier AutonomousType RowPointer VariablePointer"),
  ...named("truth", "TruthValue"),
  ...named("date", "DateAndTime"),
  ...named("enum-integer", "EnumInteger IANAifType RowStatus StorageType InetAddressType"),
  ...named("enum-integer", "LldpChassisIdSubtype LldpPortIdSubtype"),
  ...named("enum-integer", "EnumIntegerKeepID", { keepsId: true }),
  ...named("enum-bitmap", "EnumBitmap"),
  ...named("enum-oid", "EnumObjectIdentifier"),
  ...named("enum-oid", "EnumObjectIdentifierKeepOID", { keepsId: true }),
  ...named("duration", "TimeTicks TimeStamp TimeInterval TicksCentiSec", { multiply: 10, unit: "ms" }),
  syntax("TicksDay", "duration", { multiply: 86_400_000, unit: "ms" }),
  syntax("TicksHour", "duration", { multiply: 3_600_000, unit: "ms" }),
  syntax("TicksMin", "duration", { multiply: 60_000, unit: "ms" }),
  syntax("TicksSec", "duration", { multiply: 1000, unit: "ms" }),
  syntax("TicksDeciSec", "duration", { multiply: 100, unit: "ms" }),
  syntax("TicksMilliSec", "duration", { unit: "ms" }),
  syntax("TicksMicroSec", "duration", { divide: 1000, unit: "ms" }),
  syntax("BandwidthBits", "scaled", { unit: "bit/s" }),
  ...multiples(steps, (step) => `Bandwidth${step}Bits`, "bit/s"),
  syntax("BytesB", "scaled", { unit: "By" }),
  ...multiples({ ...steps, ...binarySteps }, (step) => `Bytes${step}B`, "By"),
  syntax("FreqHz", "scaled", { unit: "Hz" }),
  ...multiples(steps, (step) => `Freq${step}Hz`, "Hz"),
  ...fractions((part) => `Freq${part}Hz`, "Hz"),
  syntax("Percent1", "scaled", { multiply: 100, unit: "%" }),
  syntax("Percent100", "scaled", { unit: "%" }),
  ...fractions((part) => `Percent${part}100`, "%"),
  ...temperature("C", "celsius"),
  ...temperature("F", "fahrenheit"),
  ...temperature("K", "kelvin"),
  // Units for the monitoring of transceivers (SFF-8472).
  syntax("VoltageDeciMilliVolt", "scaled", { divide: 1e4, unit: "V" }),
  syntax("CurrentCentiMilliAmp", "scaled", { divide: 1e5, unit: "A" }),
  syntax("CurrentDoubleMicroAmp", "scaled", { multiply: 2, divide: 1e6, unit: "A" }),
  // Powers that become decibels relative to one milliwatt: the division gives milliwatts.
  syntax("PowerDbmOfDeciMicroWatt", "decibel", { divide: 1e4, unit: "dBm" }),
  syntax("PowerDbmOfMicroWatt", "decibel", { divide: 1e3, unit: "dBm" }),
  syntax("PowerDbmOfCentiMicroWatt", "decibel", { divide: 1e5, unit: "dBm" }),
  syntax("PowerDbmOfNanoWatt", "decibel", { divide: 1e6, unit: "dBm" }),
  syntax("PowerDbmOfMilliWatt", "decibel", { unit: "dBm" }),
  syntax("PowerDbmOfWatt", "decibel", { multiply: 1e3, unit: "dBm" }),
  syntax("PowerDbmOfMilliWattInText", "text-decibel", { unit: "dBm" }),
  syntax("PowerDbmOfMicroWattInText", "text-decibel", { divide: 1e3, unit: "dBm" }),
  ...quantity("Power", "Watt", "W"),
  ...quantity("Power", "VoltAmp", "VA"),
  ...quantity("Power", "Var", "var"),
  ...quantity("Energy", "WattHour", "W.h"),
  ...quantity("Charge", "AmpHour", "A.h"),
  ...quantity("Current", "Amp", "A"),
  ...quantity("Voltage", "Volt", "V"),
  ...quantity("Power", "Dbm", "dBm"),
  ...quantity("Gain", "Db", "dB"),
  // For agents that send a reading as text with its unit.
  syntax("NumberInText", "text-number"),
  syntax("TemperatureCInText", "text-number", { unit: "Cel" }),
  syntax("PowerDbmInText", "text-number", { unit: "dBm" }),
  syntax("VoltageVoltInText", "text-number", { unit: "V" }),
  syntax("CurrentMilliAmpInText", "text-number", { divide: 1000, unit: "A" }),
  syntax("CurrentAmpInText", "text-number", { unit: "A" }),
  syntax("CurrentMicroAmpInText", "text-number", { divide: 1e6, unit: "A" }),
  syntax("VoltageMilliVoltInText", "text-number", { divide: 1000, unit: "V" }),
  syntax("PowerWattInText", "text-number", { unit: "W" }),
  syntax("GainDbInText", "text-number", { unit: "dB" }),
  syntax("FreqHzInText", "text-number", { unit: "Hz" }),
  syntax("FreqMHzInText", "text-number", { multiply: 1e6, unit: "Hz" }),
  syntax("FreqGHzInText", "text-number", { multiply: 1e9, unit: "Hz" }),
  syntax("BandwidthMBitsInText", "text-number", { multiply: 1e6, unit: "bit/s" }),
  syntax("BytesKiBInText", "text-number", { multiply: 1024, unit: "By" }),
  syntax("BytesMiBInText", "text-number", { multiply: 1024 ** 2, unit: "By" }),
  syntax("PercentInText", "text-percent", { unit: "%" }),
  syntax("BytesBlocks", "blocks", { unit: "By" }),
  // These values change those of another attribute in the row: see {@link putRow}.
  ...named("number", "BytesBlockSize EntitySensorScale EntitySensorPrecision ValueFactor"),
  ...named("sensor", "EntitySensorValue"),
  ...named("lldp-chassis-id", "LldpChassisId"),
  ...named("lldp-port-id", "LldpPortId"),
  ...named("factored", "FactoredValue"),
  syntax("SensorNumberOrMilliVolt", "health"),
  syntax("PowerCentiDbmOrMicroWatt", "optical-power", { divide: 100, unit: "dBm" }),
]);
