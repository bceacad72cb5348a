/** Abstract data types of RFC 7012 section 3.1, of RFC 6313 for lists, and `unsigned256` of RFC 9740. */
export type DataType =
  | "octetArray"
  | "unsigned8"
  | "unsigned16"
  | "unsigned32"
  | "unsigned64"
  | "unsigned256"
  | "signed8"
  | "signed16"
  | "signed32"
  | "signed64"
  | "float32"
  | "float64"
  | "boolean"
  | "macAddress"
  | "string"
  | "dateTimeSeconds"
  | "dateTimeMilliseconds"
  | "dateTimeMicroseconds"
  | "dateTimeNanoseconds"
  | "ipv4Address"
  | "ipv6Address"
  | ListStructure;

/** The types that hold others (RFC 6313 section 4.5). */
export type ListStructure = "basicList" | "subTemplateList" | "subTemplateMultiList";

/** One line of a registry of information elements (RFC 7012 section 4). */
export type ElementRow = readonly [id: number, name: string, type: DataType, semantics: string, units: string];

/** An element of a vendor that publishes no registry: id, name, abstract data type. */
export type VendorRow = readonly [id: number, name: string, type: DataType];

/** The meaning of a field of a template. */
export interface InformationElement {
  /** Private enterprise number; 0 is IANA. */
  readonly pen: number;
  readonly id: number;
  /** IANA's or the vendor's name. */
  readonly name: string;
  readonly type: DataType;
  /** `default` where the registry names none. */
  readonly semantics: string;
  /** Empty where the registry names none. */
  readonly units: string;
}
