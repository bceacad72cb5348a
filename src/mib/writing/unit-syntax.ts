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
    /^(?:percent(?:age|s)?|%|pct|rh|%rh|percent rh|percent relative humidity|% relative humidity)$/,
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

export interface UnitSyntax {
  readonly syntax: string;
  readonly question: string | undefined;
}

/**
 * The syntax for a number by its UNITS clause and the decimals of its display hint (`d-2` is two).
 *
 * @returns undefined where neither says what the number has to be multiplied with.
 */
export function unitSyntax(units: string | undefined, hint: string | undefined): UnitSyntax | undefined {
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
