import type { TypeFacts } from "../facts/resolve-type.ts";
import { fixedLength } from "../facts/resolve-type.ts";
import { unitSyntax } from "./unit-syntax.ts";

/** How a definition reads an object. */
export interface ChosenSyntax {
  readonly syntax: string;
  readonly metric?: "counter" | "gauge";
  /** Where its labels belong. */
  readonly labels?: "integer" | "bitmap";
  /** What a person has to decide. */
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
