export type Scalar = string | number | bigint | boolean;

/** A field's value. Numbers are exact: what does not fit a double without rounding is a bigint. */
export type Value = Scalar | readonly Scalar[];

/**
 * The fields of one record by dotted name, in output order. A decoder or the poller builds it, enrichers add to it, the
 * line writer writes it; each has it to itself for that time. A Map, because names come from operators and from the
 * network: `__proto__` and `0` are names like any other.
 */
export type RecordFields = Map<string, Value>;

/** What is asked of a record by those who derive something from it. */
export interface FieldValues {
  get(name: string): Value | undefined;
}

/** A record for those who only add to it. */
export interface FieldsUnderWay extends FieldValues {
  has(name: string): boolean;
  set(name: string, value: Value): unknown;
}
