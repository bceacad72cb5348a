/** What a syntax does to a value. */
export type SyntaxKind =
  | "number"
  | "scaled"
  | "temperature"
  | "decibel"
  | "duration"
  | "text-number"
  | "text-percent"
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
  | "factored";

/** How the values of one attribute or index part are read. The only instances are those of {@link syntaxes}. */
export interface Syntax {
  readonly name: string;
  readonly kind: SyntaxKind;
  /** The base unit is the value times `multiply`, divided by `divide`. 1 where nothing is scaled. */
  readonly multiply: number;
  readonly divide: number;
  /** Of an enumeration: whether the number or OID is given with its label. */
  readonly keepsId: boolean;
  /** Of a temperature: the scale it is measured on. */
  readonly scale: "celsius" | "fahrenheit" | "kelvin" | undefined;
}

type Extras = Partial<Omit<Syntax, "name" | "kind">>;

function syntax(name: string, kind: SyntaxKind, extras: Extras = {}): [string, Syntax] {
  return [name, { name, kind, multiply: 1, divide: 1, keepsId: false, scale: undefined, ...extras }];
}

const named = (kind: SyntaxKind, names: string, extras?: Extras): [string, Syntax][] =>
  names.split(" ").map((name) => syntax(name, kind, extras));

const steps = { T: 1e12, G: 1e9, M: 1e6, K: 1e3 };
const binarySteps = { Ti: 2 ** 40, Gi: 2 ** 30, Mi: 2 ** 20, Ki: 2 ** 10 };
const words = { Mega: 1e6, Kilo: 1e3 };
const parts = { Deci: 10, Centi: 100, Milli: 1e3, Micro: 1e6, Nano: 1e9 };

const multiples = (table: Readonly<Record<string, number>>, name: (step: string) => string): [string, Syntax][] =>
  Object.entries(table).map(([step, multiply]) => syntax(name(step), "scaled", { multiply }));

const fractions = (name: (part: string) => string): [string, Syntax][] =>
  Object.entries(parts).map(([part, divide]) => syntax(name(part), "scaled", { divide }));

/** One quantity with its multiples and fractions: `PowerKiloWatt`, `PowerWatt`, `PowerMilliWatt`, `PowerCentiKiloWatt`. */
const quantity = (family: string, unit: string): [string, Syntax][] => [
  syntax(`${family}${unit}`, "scaled"),
  ...multiples(words, (step) => `${family}${step}${unit}`),
  ...fractions((part) => `${family}${part}${unit}`),
  ...Object.entries(words).flatMap(([step, multiply]) =>
    Object.entries(parts).map(([part, divide]) =>
      syntax(`${family}${part}${step}${unit}`, "scaled", { multiply, divide }),
    ),
  ),
];

const temperature = (unit: string, scale: Syntax["scale"]): [string, Syntax][] => [
  syntax(`Temperature${unit}`, "temperature", { scale }),
  ...Object.entries(parts).map(([part, divide]) =>
    syntax(`Temperature${part}${unit}`, "temperature", { scale, divide }),
  ),
  syntax(`TemperatureHalf${unit}`, "temperature", { scale, divide: 2 }),
];

/**
 * The syntaxes that definitions may name. Base units: bits per second, bytes, percent of 100, degrees Celsius, watts,
 * volt-amperes, vars, watt-hours, ampere-hours, amperes, volts, hertz, decibels (over a milliwatt), milliseconds.
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
  // The fields of what they are the number of go into the record with them.
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
  ...named("duration", "TimeTicks TimeStamp TimeInterval TicksCentiSec", { multiply: 10 }),
  syntax("TicksDay", "duration", { multiply: 86_400_000 }),
  syntax("TicksHour", "duration", { multiply: 3_600_000 }),
  syntax("TicksMin", "duration", { multiply: 60_000 }),
  syntax("TicksSec", "duration", { multiply: 1000 }),
  syntax("TicksDeciSec", "duration", { multiply: 100 }),
  syntax("TicksMilliSec", "duration"),
  syntax("TicksMicroSec", "duration", { divide: 1000 }),
  syntax("BandwidthBits", "scaled"),
  ...multiples(steps, (step) => `Bandwidth${step}Bits`),
  syntax("BytesB", "scaled"),
  ...multiples(steps, (step) => `Bytes${step}B`),
  ...multiples(binarySteps, (step) => `Bytes${step}B`),
  syntax("FreqHz", "scaled"),
  ...multiples(steps, (step) => `Freq${step}Hz`),
  ...fractions((part) => `Freq${part}Hz`),
  syntax("Percent1", "scaled", { multiply: 100 }),
  syntax("Percent100", "scaled"),
  ...fractions((part) => `Percent${part}100`),
  ...temperature("C", "celsius"),
  ...temperature("F", "fahrenheit"),
  ...temperature("K", "kelvin"),
  // Units of the monitoring of transceivers (SFF-8472).
  syntax("TemperaturePer256C", "temperature", { scale: "celsius", divide: 256 }),
  syntax("VoltageDeciMilliVolt", "scaled", { divide: 1e4 }),
  syntax("CurrentDoubleMicroAmp", "scaled", { multiply: 2, divide: 1e6 }),
  // Powers that become decibels over a milliwatt, which is what they are divided to.
  syntax("PowerDbmOfDeciMicroWatt", "decibel", { divide: 1e4 }),
  syntax("PowerDbmOfMicroWatt", "decibel", { divide: 1e3 }),
  syntax("PowerDbmOfMilliWatt", "decibel"),
  ...quantity("Power", "Watt"),
  ...quantity("Power", "VoltAmp"),
  ...quantity("Power", "Var"),
  ...quantity("Energy", "WattHour"),
  ...quantity("Charge", "AmpHour"),
  ...quantity("Current", "Amp"),
  ...quantity("Voltage", "Volt"),
  ...quantity("Power", "Dbm"),
  ...quantity("Gain", "Db"),
  // Agents that have no number for a reading, and write it with its unit.
  ...named("text-number", "NumberInText TemperatureCInText PowerDbmInText VoltageVoltInText"),
  syntax("CurrentMilliAmpInText", "text-number", { divide: 1000 }),
  syntax("BytesKiBInText", "text-number", { multiply: 1024 }),
  syntax("BytesMiBInText", "text-number", { multiply: 1024 ** 2 }),
  syntax("PercentInText", "text-percent"),
  ...named("blocks", "BytesBlocks"),
  // Their values go into those of a neighbour in the same row: see {@link putRow}.
  ...named("number", "BytesBlockSize EntitySensorScale EntitySensorPrecision ValueFactor"),
  ...named("sensor", "EntitySensorValue"),
  ...named("lldp-chassis-id", "LldpChassisId"),
  ...named("lldp-port-id", "LldpPortId"),
  ...named("factored", "FactoredValue"),
]);
