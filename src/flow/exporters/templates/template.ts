/** The length in a field specifier that stands for "given in each record" (RFC 7011 section 7). */
export const variableLength = 0xffff;

/** One field of a template as it is on the wire. */
export interface FieldSpecifier {
  /** Private enterprise number; 0 where there is none. */
  readonly pen: number;
  readonly id: number;
  /** Bytes, or {@link variableLength}. */
  readonly length: number;
}

/** Which numbering a template speaks: in NetFlow v9 scope fields have one of their own (RFC 3954 section 6.1). */
export type Dialect = "netflow9" | "ipfix";

/** How an exporter lays out its data records (RFC 3954 section 5.2, RFC 7011 section 3.4). */
export interface Template {
  readonly id: number;
  readonly dialect: Dialect;
  readonly fields: readonly FieldSpecifier[];
  /** How many of the first fields are scope; undefined in a template of flows, a number in one of options. */
  readonly scopeCount: number | undefined;
}
