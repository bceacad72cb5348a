import { type TypeFacts, fixedLength } from "./module-facts.ts";

/** A quantity: how its units are written, and the syntax for a fraction (`Deci`, …) of it. */
interface Quantity {
  readonly pattern: RegExp;
  /** Undefined where the definitions have no syntax for the fraction. */
  readonly syntax: (fraction: string) => string | undefined;
  readonly question?: string;
}

const family = (pattern: RegExp, before: string, after: string, question?: string): Quantity => ({
  pattern,
  syntax: (fraction) => `${before}${fraction}${after}`,
  ...(question === undefined ? {} : { question }),
});

const whole = (pattern: RegExp, name: string, question?: string): Quantity => ({
  pattern,
  syntax: (fraction) => (fraction === "" ? name : undefined),
  ...(question === undefined ? {} : { question }),
});

const thousand = (step: string): string => `is a ${step}byte 1000 or 1024 of the next smaller unit? Written as 1024`;

const quantities: readonly Quantity[] = [
  family(/^(?:deg(?:rees?|s)?\.? ?)?(?:c|celsius|celcius|centigrade)(?: degrees?)?$|^°c$/, "Temperature", "C"),
  family(/^(?:deg(?:rees?|s)?\.? ?)?(?:f|fahrenheit)(?: degrees?)?$|^°f$/, "Temperature", "F"),
  family(/^(?:deg(?:rees?|s)? ?)?kelvin$/, "Temperature", "K"),
  family(
    /^(?:percent(?:age|s)?|%|pct|rh|%rh|percent rh|percent (?:relative )?humidity|% relative humidity)$/,
    "Percent",
    "100",
  ),
  family(/^(?:rms )?v(?:olts?)?(?: ?(?:dc|ac|rms))*$/, "Voltage", "Volt"),
  whole(/^milli-?volts?(?: (?:dc|ac))?$|^mv$/, "VoltageMilliVolt"),
  family(/^(?:rms )?a(?:mp(?:ere)?s?)?(?: ?(?:dc|ac|rms))*$/, "Current", "Amp"),
  whole(/^milli-?amp(?:ere)?s?$|^ma$/, "CurrentMilliAmp"),
  whole(/^micro-?amp(?:ere)?s?$|^ua$/, "CurrentMicroAmp"),
  family(/^w(?:atts?)?$/, "Power", "Watt"),
  whole(/^milli-?watts?$|^mw$/i, "PowerMilliWatt", "milliwatts or megawatts? Written as milliwatts"),
  whole(/^micro-?watts?$|^uw$/, "PowerMicroWatt"),
  family(/^kilo-?watts?$|^kw$/, "Power", "KiloWatt"),
  family(/^va$|^volt-?amp(?:ere)?s?$/, "Power", "VoltAmp"),
  family(/^kva$/, "Power", "KiloVoltAmp"),
  family(/^vars?$/, "Power", "Var"),
  family(/^wh$|^watt-?hours?$/, "Energy", "WattHour"),
  family(/^kwh$|^kilo-?watt-?hours?$/, "Energy", "KiloWattHour"),
  family(/^ah$|^amp(?:ere)?-?hours?$/, "Charge", "AmpHour"),
  family(/^dbm$/, "Power", "Dbm"),
  family(/^db$|^decibels?$/, "Gain", "Db"),
  family(/^hz$|^hertz$/, "Freq", "Hz"),
  whole(/^khz$|^kilohertz$/, "FreqKHz"),
  whole(/^mhz$|^megahertz$/, "FreqMHz"),
  whole(/^ghz$|^gigahertz$/, "FreqGHz"),
  whole(/^(?:octets?|bytes?|b)$/, "BytesB"),
  whole(/^ki-?b(?:ytes?)?$|^kibi-?bytes?$/, "BytesKiB"),
  whole(/^mi-?b(?:ytes?)?$|^mebi-?bytes?$/, "BytesMiB"),
  whole(/^gi-?b(?:ytes?)?$|^gibi-?bytes?$/, "BytesGiB"),
  whole(/^k-?b(?:ytes?)?$|^kilo-? ?(?:bytes?|octets?)$/, "BytesKiB", thousand("kilo")),
  whole(/^m-?b(?:ytes?)?$|^mega-? ?(?:bytes?|octets?)$/, "BytesMiB", thousand("mega")),
  whole(/^g-?b(?:ytes?)?$|^giga-? ?(?:bytes?|octets?)$/, "BytesGiB", thousand("giga")),
  whole(/^bits?(?: per |\/)s(?:ec(?:ond)?)?$|^bps$/, "BandwidthBits"),
  whole(/^k(?:ilo)?-?bits?(?: per |\/)s(?:ec(?:ond)?)?$|^kbps$|^kb\/s$|^1,?000 bits per second$/, "BandwidthKBits"),
  whole(
    /^m(?:ega)?-?bits?(?: per |\/)s(?:ec(?:ond)?)?$|^mbps$|^mb\/s$|^1,?000,?000 bits per second$/,
    "BandwidthMBits",
  ),
  whole(/^g(?:iga)?-?bits?(?: per |\/)s(?:ec(?:ond)?)?$|^gbps$/, "BandwidthGBits"),
  { pattern: /^s(?:ec(?:ond)?s?)?$/, syntax: (fraction) => `Ticks${fraction}Sec` },
  whole(/^deci-?seconds?$/, "TicksDeciSec"),
  whole(/^centi-?seconds?$/, "TicksCentiSec"),
  whole(/^milli-?sec(?:ond)?s?$|^ms(?:ec)?s?$/, "TicksMilliSec"),
  whole(/^micro-?sec(?:ond)?s?$|^us(?:ec)?s?$/, "TicksMicroSec"),
  whole(/^min(?:ute)?s?$/, "TicksMin"),
  whole(/^hours?$|^hrs?$/, "TicksHour"),
  whole(/^days?$/, "TicksDay"),
];

const fractionWords: readonly (readonly [string, RegExp])[] = [
  ["Deci", /^(?:0?\.1|1\/10(?:th)?s?|tenths?|one tenths?) ?(?:of )?(?:a |an )?/],
  ["Centi", /^(?:0?\.01|1\/100(?:th)?s?|hundredths?|one hundredths?) ?(?:of )?(?:a |an )?/],
  ["Milli", /^(?:0?\.001|1\/1000(?:th)?s?|thousandths?|one thousandths?) ?(?:of )?(?:a |an )?/],
];

/** A thousandth of a thousandth has a name of its own. */
const thousandths: Readonly<Record<string, string>> = {
  CurrentMilliAmp: "CurrentMicroAmp",
  VoltageMilliVolt: "VoltageMicroVolt",
  PowerMilliWatt: "PowerMicroWatt",
};

const steps = ["", "Deci", "Centi", "Milli", "", "", "Micro"];

interface UnitSyntax {
  readonly syntax: string;
  readonly question: string | undefined;
}

/**
 * The syntax for a number by its UNITS clause and the decimals of its display hint (`d-2` is two).
 *
 * @returns undefined where neither says what the number has to be multiplied with.
 */
function unitSyntax(units: string | undefined, hint: string | undefined): UnitSyntax | undefined {
  const decimals = Number(/^d-(\d)$/.exec(hint ?? "")?.[1] ?? 0);
  const ofHint = steps[decimals] ?? "";
  const text = (units ?? "")
    .trim()
    .toLowerCase()
    .replace(/\s+/g, " ")
    .replace(/(?<=\S) ?\([^()]*\)$/, "")
    .replace(/[.]$/, "");
  const [ofUnits = "", words] = fractionWords.find(([, pattern]) => pattern.test(text)) ?? [];
  const unit = words === undefined ? text : text.replace(words, "").trim();
  // Units and hint that both divide mean the same division.
  const fraction = ofUnits === "" ? ofHint : ofUnits;
  const quantity = unit === "" ? undefined : quantities.find(({ pattern }) => pattern.test(unit));
  const syntax =
    quantity?.syntax(fraction) ?? (fraction === "Milli" ? thousandths[quantity?.syntax("") ?? ""] : undefined);
  if (syntax !== undefined) return { syntax, question: quantity?.question };
  return fraction === "" ? undefined : { syntax: `Number${fraction}`, question: undefined };
}

/** The way in which a definition reads an object. */
export interface ChosenSyntax {
  readonly syntax: string;
  readonly metric?: "counter" | "gauge";
  /** The syntax that its labels belong to. */
  readonly labels?: "integer" | "bitmap";
  /** Questions that a person has to decide. */
  readonly questions: readonly string[];
}

/** Conventions that a syntax is named after, or means the same as. */
const byConvention: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    (
      "DateAndTime MacAddress PhysAddress InetAddress InetAddressIPv4 InetAddressIPv6 Ipv6Address RowPointer " +
      "VariablePointer AutonomousType InterfaceIndex InterfaceIndexOrZero PhysicalIndex PhysicalIndexOrZero TimeStamp " +
      "TimeInterval DisplayString SnmpAdminString OwnerString Utf8String LongUtf8String VlanId VlanIndex VlanIdOrAny " +
      "InetPortNumber InetAddressPrefixLength InetAutonomousSystemNumber"
    )
      .split(" ")
      .map((name) => [name, name]),
  ),
  InstancePointer: "ObjectIdentifier",
  InetAddressIPv4z: "InetAddressIPv4",
  InetAddressIPv6z: "InetAddressIPv6",
  VlanIdOrNone: "VlanId",
  VlanIdOrAnyOrNone: "VlanIdOrAny",
  UTF8String: "Utf8String",
};

/** Conventions of numbers that go up and down, whatever their base type. */
const gauges = /^(?:CounterBasedGauge64|.*Gauge.*)$/;
const counters = /^ZeroBasedCounter(?:32|64)$/;

export function syntaxOf(name: string, type: TypeFacts, units: string | undefined): ChosenSyntax {
  const plain = (syntax: string, questions: readonly string[] = []): ChosenSyntax => ({ syntax, questions });
  const { base, labels, conventions } = type;
  const odd = labels?.find(([, number]) => !isLabelNumber(number, base === "BITS"));
  if (odd !== undefined) {
    const question = `${odd[0]}(${odd[1]}) is beyond what can have a label: the labels are left out`;
    return plain(base === "BITS" ? "HexString" : "Integer32", [question]);
  }
  if (base === "BITS") return { ...plain("EnumBitmap"), labels: "bitmap" };
  if (conventions.includes("TruthValue") || isTruth(labels)) return plain("TruthValue");
  if (labels !== undefined) return { ...plain("EnumInteger"), labels: "integer" };
  const known = conventions.find((convention) => convention in byConvention);
  if (known !== undefined) return plain(byConvention[known] as string);
  switch (base) {
    case "OCTET STRING":
      return octetSyntax(name, type);
    case "IpAddress":
    case "NetworkAddress":
      return plain("IpAddress");
    case "OBJECT IDENTIFIER":
      return plain("ObjectIdentifier");
    case "Opaque":
      return plain(conventions.some((convention) => /float|double/i.test(convention)) ? "Float" : "Opaque");
    case "TimeTicks":
      return plain("TimeTicks");
    default:
      return numberSyntax(name, type, units);
  }
}

/** Numbers that files of labels may have: bits of up to five digits, integers of up to ten. */
function isLabelNumber(number: number, isBit: boolean): boolean {
  return Number.isInteger(number) && Math.abs(number) < (isBit ? 1e5 : 1e10) && !(isBit && number < 0);
}

/** SMIv1 has no TruthValue, so modules spell it out. */
function isTruth(labels: TypeFacts["labels"]): boolean {
  const text = labels?.map(([label, number]) => `${label}=${number}`).join();
  return text === "true=1,false=2";
}

function octetSyntax(name: string, type: TypeFacts): ChosenSyntax {
  const { hint, conventions } = type;
  const length = fixedLength(type);
  const chosen = (syntax: string, question?: string): ChosenSyntax => ({
    syntax,
    questions: question === undefined ? [] : [question],
  });
  if (/^\d*a$/.test(hint ?? "")) return chosen("DisplayString");
  if (/^\d*t$/.test(hint ?? "")) return chosen("Utf8String");
  if (hint?.startsWith("2d-1d-1d") === true) return chosen("DateAndTime");
  if (hint === "1d.1d.1d.1d" || hint === "1d.") return chosen("InetAddressIPv4");
  if (/^1x:?$/.test(hint ?? "") && length === 6) return chosen("MacAddress");
  if (/^\*?\d+x/.test(hint ?? "")) return chosen("HexString");
  if (length === 6 && /mac/i.test(`${name} ${conventions.join(" ")}`)) return chosen("MacAddress");
  if (length !== undefined && length > 1 && hint === undefined) return chosen("HexString");
  if (conventions.some((convention) => /PortList|EngineID|BridgeId|Bitmap|BitMask/i.test(convention)))
    return chosen("HexString");
  if (hint !== undefined)
    return chosen("HexString", `the display hint ${JSON.stringify(hint)} has no syntax: octets as hexadecimal`);
  const says = /(?:^|[a-z])(?:Ip|IP|Inet)(?:v[46])?Addr|IpAddr/.test(name);
  return chosen("OctetString", says ? "an address in octets? Then syntax: InetAddress" : undefined);
}

function numberSyntax(name: string, type: TypeFacts, units: string | undefined): ChosenSyntax {
  const { base, conventions, hint } = type;
  const isGauge = conventions.some((convention) => gauges.test(convention)) || base.startsWith("Gauge");
  const isCounter =
    !isGauge && (base.startsWith("Counter") || conventions.some((convention) => counters.test(convention)));
  if (!isGauge && !isCounter && /[a-z](?:IfIndex)$|^ifIndex$/.test(name))
    return { syntax: "InterfaceIndex", questions: [] };
  const scaled = unitSyntax(units, hint);
  const questions = scaled?.question === undefined ? [] : [scaled.question];
  if (isCounter) {
    const isPlain = scaled === undefined || scaled.syntax === "BytesB";
    const plain = base === "Counter64" ? "Counter64" : "Counter32";
    return { syntax: isPlain ? plain : scaled.syntax, metric: "counter", questions: isPlain ? [] : questions };
  }
  const isMeasured = isGauge || units !== undefined || scaled !== undefined;
  const plain =
    base === "Counter64"
      ? "CounterBasedGauge64"
      : isGauge
        ? "Gauge32"
        : base.startsWith("U")
          ? "Unsigned32"
          : "Integer32";
  return { syntax: scaled?.syntax ?? plain, ...(isMeasured ? { metric: "gauge" as const } : {}), questions };
}
