/** Fields that all vendors' values of one meaning share, and how their objects are likely called. */
const hints: readonly (readonly [RegExp, string])[] = [
  [/cpu.*(?:util|load|usage|busy|percent)|(?:util|load|usage).*cpu|processor.*(?:load|util)/i, "system.cpu.util.pct"],
  [/mem(?:ory)?.*(?:util|usage|percent|pct)/i, "system.memory.used.pct"],
  [/mem(?:ory)?.*total|total.*mem/i, "system.memory.total.bytes"],
  [/mem(?:ory)?.*free|free.*mem/i, "system.memory.free.bytes"],
  [/mem(?:ory)?.*used|used.*mem/i, "system.memory.used.bytes"],
  [/(?:rx|receive|input).*(?:optical)?power/i, "transceiver.rx.power"],
  [/(?:tx|transmit|output).*opticalpower|laser.*power|txpower/i, "transceiver.tx.power"],
  [/bias/i, "transceiver.tx.bias"],
  [
    /temp(?:erature)?(?:value|reading|celsius|current|status)?$|fan.*(?:speed|rpm)|voltage(?:value|level)$/i,
    "hw.sensor.value (with fields: {hw.sensor.type: …})",
  ],
  [/(?:fan|psu|supply|powersupply).*(?:status|state)$/i, "hw.sensor.state (with fields: {hw.sensor.type: …})"],
  [/peer.*(?:remoteas)$/i, "bgp.peer.remote.as"],
  [/peer.*(?:state)$/i, "bgp.peer.state"],
  [/prefix(?:es)?accepted|acceptedprefixes/i, "bgp.prefixes.accepted"],
  [/(?:session|sess).*(?:count|active|current|num)/i, "firewall.sessions"],
  [/(?:tunnel).*(?:state|status)$/i, "vpn.tunnel.state"],
  [/(?:ha|failover|redundancy).*(?:state|status|mode)$/i, "ha.state"],
  [/(?:ssid)$/i, "wireless.network.ssid"],
  [/(?:client|sta|station|user)s?(?:count|num|number)$/i, "wireless.ap.clients"],
];

/** A question where an object may be what a field of all vendors is for. */
export function standardFieldQuestion(
  name: string,
  description: string | undefined,
  isNumber: boolean,
): string | undefined {
  if (/serial(?:num|no|number)?$/i.test(name))
    return "the serial number of the device? Rules in autodiscover/identities/ make it system.serial";
  const isOfCpu = /load|util|usage|busy/i.test(name) && /\b(?:cpu|processor)s?\b/i.test(description ?? "");
  const found = hints.find(([pattern, field]) => pattern.test(name) && (isNumber || !/pct|bytes|value/.test(field)));
  const field = isOfCpu && isNumber ? "system.cpu.util.pct" : found?.[1];
  return field && `does it mean ${field}? Then it should have that name`;
}

/** Descriptions that speak of numbers that are no reading. */
export function noValueQuestion(description: string | undefined): string | undefined {
  const found = /(?:value|returns?|reports?) (?:of )?(-1|-9+|2147483647|4294967295|65535)\b/i.exec(
    description ?? "",
  )?.[1];
  return found && `the description speaks of ${found}: is it no reading? Then no_value: {${found}: unknown}`;
}

/** What descriptions say of units where the module has no UNITS clause. */
const spokenUnits: readonly (readonly [RegExp, string])[] = [
  [/\bpercent|percentage|\d%/i, "Percent100"],
  [/\bk(?:ilo)?-?bytes?\b|\bKB\b/i, "BytesKiB"],
  [/\bm(?:ega)?-?bytes?\b|\bMB\b/i, "BytesMiB"],
  [/1,?000,?000 bits per second|megabits? per second|\bMbps\b/i, "BandwidthMBits"],
  [/bits per second|\bbps\b/i, "BandwidthBits"],
  [/\bmC\b|milli-?degrees/i, "TemperatureMilliC"],
  [/degrees? (?:celsius|c\b)|celsius|centigrade/i, "TemperatureC"],
  [/\bmV\b|milli-?volts?/i, "VoltageMilliVolt"],
  [/\bdBm\b/, "PowerDbm"],
  [/milli-?seconds?/i, "TicksMilliSec"],
  [/\bin seconds\b|number of seconds/i, "TicksSec"],
];

/** Of a plain number without units. */
export function unitQuestion(
  syntax: string,
  units: string | undefined,
  description: string | undefined,
): string | undefined {
  if (units !== undefined || !/^(?:Integer32|Unsigned32|Gauge32)$/.test(syntax)) return undefined;
  const found = spokenUnits.find(([pattern]) => pattern.test(description ?? ""))?.[1];
  return found && `by the description its unit may be that of syntax: ${found}`;
}
