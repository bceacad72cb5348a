/** Fields as the bytes of a line, each after a comma, for fields that many lines share. */
export type RenderedFields = Uint8Array;

/** Renders fields by the rules of {@link LineBuffer.append}. */
export function renderFields(fields: readonly (readonly [name: string, value: Value])[]): RenderedFields {
  return Buffer.from(fields.map(([name, value]) => renderField(name, value)).join(""));
}

/** Returns the text of one rendered field. */
export function renderField(name: string, value: Value): string {
  return fieldStart(name) + renderValue(value);
}

/** Returns the text before the value of a field: a comma, the name, a colon. */
export function fieldStart(name: string): string {
  return `,${JSON.stringify(name)}:`;
}

export function renderValue(value: Value): string {
  if (typeof value === "object") return `[${value.map(renderValue).join(",")}]`;
  return typeof value === "bigint" ? String(value) : JSON.stringify(value);
}

/**
 * The segments that a decoder's name may have directly after an object (`flow.src`, `flow.dst`, `flow.export`): a decoder's
 * `flow.src.l4.port.id` needs `l4` here. A name with any other segment there belongs to the operator's metadata alone, so it needs no
 * check against the record. No name may be a prefix of another (`flow.src.l4` and `flow.src.l4.port.id`), because Elasticsearch rejects
 * such a line.
 *
 * Of these names `ip.subnet.*`, `vlan.tag.id` and `isInternal` are reserved for metadata. No decoder puts a value at `ip`, `ip.subnet`,
 * `vlan` or `vlan.tag` themselves.
 */
export const decodedSegments: ReadonlySet<string> = new Set([
  "agent",
  "app",
  "as",
  "bgp",
  "clock",
  "domain",
  "engine",
  "geo",
  "host",
  "id",
  "ip",
  "isInternal",
  "l4",
  "locality",
  "mac",
  "mpls",
  "name",
  "nat",
  "net",
  "netif",
  "observation",
  "port",
  "relay",
  "sequence",
  "template",
  "timestamp",
  "type",
  "uptime",
  "user",
  "version",
  "vlan",
  "vrf",
]);

export type Scalar = string | number | bigint | boolean;

/** A field's value. Numbers are exact: a number that a double cannot hold without rounding is a bigint. */
export type Value = Scalar | readonly Scalar[];

/**
 * The fields of one record by dotted name, in output order. A decoder or the poller builds it, enrichers add to it, the
 * line writer writes it; only one of them uses it at a time. It is a Map because names come from operators and from the
 * network: `__proto__` and `0` are names like any other.
 */
export type RecordFields = Map<string, Value>;

/** Read access to the values of a record. */
export interface FieldValues {
  get(name: string): Value | undefined;
}

/** A record for code that reads fields and adds some, but removes none. */
export interface FieldsUnderWay extends FieldValues {
  has(name: string): boolean;
  set(name: string, value: Value): unknown;
}
