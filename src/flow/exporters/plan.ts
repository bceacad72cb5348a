import type { Value } from "../../record/index.ts";
import type { ExportClock, Convert } from "../elements/mapping/convert-type.ts";
import type { Fallback } from "../elements/mapping/element-names.ts";
import type { ListStructure } from "../elements/registry/information-element.ts";
import type { FirewallPlan } from "./firewall-flows.ts";

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

/** The numbering that a template speaks: in NetFlow v9 scope fields have one of their own (RFC 3954 section 6.1). */
type Dialect = "netflow9" | "ipfix";

/** The layout of an exporter's data records (RFC 3954 section 5.2, RFC 7011 section 3.4). */
export interface Template {
  readonly id: number;
  readonly dialect: Dialect;
  readonly fields: readonly FieldSpecifier[];
  /** The number of first fields that are scope; undefined in a template of flows, a number in one of options. */
  readonly scopeCount: number | undefined;
}

/** The context that the records of one datagram have in common. */
export interface RecordContext {
  /** Fields that come first in every record. */
  readonly head: readonly (readonly [name: string, value: Value])[];
  readonly clock: ExportClock;
  readonly bootTime: number | undefined;
}

/** The result of one field of a template in a record. */
export interface Output {
  /** The position of the field in the template. */
  readonly field: number;
  readonly name: string;
  readonly convert: Convert;
  /** Undefined for a value that is derived: the field it comes from has an output of its own. */
  readonly fallback: Fallback | undefined;
  /** True if zero bytes are a value too. */
  readonly takesEmpty: boolean;
}

/**
 * One name of a record and where its value comes from.
 *
 * - `field`: one field.
 * - `list`: one element that the template repeats; its values make an array. Such a name is never one of ours.
 * - `contest`: different elements that claim the name, best first. The first that is not all zero bytes has it, because
 *   exporters fill the address family that they do not use with zeros; the others go to their fallbacks.
 */
export interface Step {
  readonly kind: "field" | "list" | "contest";
  readonly outputs: readonly [Output, ...Output[]];
  /** The step is done where all of these hold; undefined is always. Steps of one case share the array. */
  readonly when?: readonly Presence[] | undefined;
}

/** A condition: one of these fields at least has a byte that is not zero. */
export interface Presence {
  readonly fields: readonly number[];
  readonly isSet: boolean;
}

/**
 * A step that no list of names can express, because the result is known only from the record's bytes. Only the interpreter does these,
 * after the other steps.
 *
 * - `list`: a list of RFC 6313.
 * - `labels`: a stack of MPLS labels, the top first.
 * - `packet`: the beginning of a packet.
 * - `split`: nothing within the record; it may become two, one for each direction of a biflow.
 */
export type SlowStep =
  | {
      readonly kind: "list";
      readonly structure: ListStructure;
      readonly field: number;
      /** The name of the values where an element's name says what its basicList holds; undefined where the elements in the list do. */
      readonly valuesName: string | undefined;
      readonly hexName: string;
    }
  | { readonly kind: "labels"; readonly fields: readonly SlowField[] }
  | PacketSection
  | { readonly kind: "split" };

/** A field with a part of a packet, the beginning of it as a rule. */
export interface PacketSection {
  readonly kind: "packet";
  readonly field: number;
  readonly start: SectionStart;
  /** For its bytes, where they are no such packet. */
  readonly name: string;
  /** The field that says how far into the packet it begins, -1 when there is none: it is the beginning. */
  readonly offsetField: number;
  /** The field that says how many of its bytes are of the packet, -1 when there is none: all. */
  readonly sizeField: number;
}

/** The header that a section of a packet begins with; `ip` is IPv4 or IPv6 by its first bits. */
export type SectionStart = "ethernet" | "ip" | "mpls";

/** A field of the template and its name for bytes that are no value. */
export interface SlowField {
  readonly field: number;
  readonly hexName: string;
}

/** The scope that the scope fields of a template of options give beyond names that records have. */
export interface OptionsScope {
  /** True if they narrow it to something that flow records do not say, such as a line card. */
  readonly isForeign: boolean;
  /** True if the records name an observation domain, which may be another one. */
  readonly namesDomain: boolean;
}

/** The plan for decoding a record of a template, worked out once. Plain data: it says all that a compiler would need. */
export interface Plan {
  readonly template: Template;
  /** No two that can both be done for one record write the same name. */
  readonly steps: readonly Step[];
  /** A plan that has any is for the interpreter. */
  readonly slowSteps: readonly SlowStep[];
  /** Bytes of each field, or the mark of a variable length. */
  readonly lengths: readonly number[];
  readonly hasVariableLength: boolean;
  /** The least number of bytes that a record takes, at least 1. Without variable lengths it takes exactly these. */
  readonly minLength: number;
  /** The field with the exporter's start time (systemInitTimeMilliseconds), -1 when there is none. */
  readonly bootTimeField: number;
  /** The fields that name the exporter (exporterIPv4Address, exporterIPv6Address), in the order in which they count. */
  readonly exporterFields: readonly number[];
  /** True if records count what initiator and responder sent: the source is the initiator. */
  readonly hasInitiator: boolean;
  /** True if records say something of sampling: a rate or a sampler. */
  readonly namesSampling: boolean;
  /** True if a record of zeros is none: flows have addresses. */
  readonly hasAddresses: boolean;
  /** True if flow records name a sampler. */
  readonly namesSampler: boolean;
  /** The plan for events of a firewall whose counters are totals in the last of a flow; undefined where they are not. */
  readonly firewall: FirewallPlan | undefined;
  /** The subject of records of options. */
  readonly scope: OptionsScope;
}
