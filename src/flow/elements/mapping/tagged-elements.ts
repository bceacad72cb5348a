import { enumerations } from "../registry/enumerations.gen.ts";
import { tcpOptionsFull } from "./convert-field.ts";
import { formatText } from "./convert-type.ts";
import type { Convert } from "./field-source.ts";

/** A name for some of an element's values. */
export interface TaggedName {
  readonly name: string;
  /** @returns undefined for values that mean something else. */
  readonly convert: Convert;
}

/**
 * An application's value: four bytes of application id (engine, selector), two of what it is, then the text (Cisco, "AVC Metric
 * Definition Guide", appendix "DPI/L7 Extracted Fields").
 */
const subApplications: readonly (readonly [name: string, engine: number, selector: number, part: number])[] = [
  ["flow.url.text", 3, 80, 13_313],
  ["flow.url.host", 3, 80, 13_314],
  ["flow.http.user_agent", 3, 80, 13_315],
  ["flow.http.referer", 3, 80, 13_316],
  ["flow.tls.common_name", 13, 453, 13_313],
  ["flow.rtsp.host", 3, 554, 13_313],
  ["flow.smtp.server", 3, 25, 13_313],
  ["flow.smtp.sender", 3, 25, 13_314],
  ["flow.pop3.server", 3, 110, 13_313],
  ["flow.nntp.group", 3, 119, 13_313],
  ["flow.sip.dst.domain", 3, 5060, 13_313],
  ["flow.sip.src.domain", 3, 5060, 13_314],
];
const subApplicationHead = 6;

const subApplicationNames = subApplications.map(([name, engine, selector, part]): TaggedName => {
  const application = engine * 0x100_0000 + selector;
  return {
    name,
    convert: ({ bytes, view }, at, length) =>
      length > subApplicationHead && view.getUint32(at) === application && view.getUint16(at + 4) === part
        ? formatText(bytes, at + subApplicationHead, length - subApplicationHead)
        : undefined,
  };
});

/** Juniper's common properties that are an exception of forwarding: two bytes, the upper six bits are 2, the others the code. */
const exceptionType = 2;
const exceptionCode: Convert = ({ view }, at, length) => {
  const value = length === 2 ? view.getUint16(at) : 0;
  return value >>> 10 === exceptionType ? value & 0x3ff : undefined;
};
/** Forwarded and dropped of forwardingStatus (RFC 7270), for a code of 0 and any other. */
const forwarded = 64;
const dropped = 128;
const statusOf: Convert = (source, at, length) => {
  const code = exceptionCode(source, at, length);
  return code === undefined ? undefined : code === 0 ? forwarded : dropped;
};

/** Juniper, "Juniper Resiliency Interface": Common Properties ID. */
const commonPropertyNames: readonly TaggedName[] = [
  { name: "flow.forwarding.status.id", convert: statusOf },
  {
    name: "flow.forwarding.status.name",
    convert: (source, at, length) => {
      const status = statusOf(source, at, length);
      return typeof status === "number" ? enumerations.forwardingStatus.get(status >>> 6) : undefined;
    },
  },
  { name: "flow.forwarding.exception.id", convert: exceptionCode },
];

/** layer2SegmentId (IANA): the first byte is the kind of the segment, the last three its number. */
const layer2Segments: ReadonlyMap<number, string> = new Map([
  [1, "vxlan"],
  [2, "nvgre"],
]);
const segmentNames: readonly TaggedName[] = [
  {
    name: "flow.tunnel.type.name",
    convert: ({ view }, at, length) => (length === 8 ? layer2Segments.get(view.getUint8(at)) : undefined),
  },
  {
    name: "flow.tunnel.id",
    convert: ({ view }, at, length) =>
      length === 8 && layer2Segments.has(view.getUint8(at)) ? view.getUint32(at + 4) & 0xff_ffff : undefined,
  },
];

const optionNames: readonly TaggedName[] = [{ name: "tcp.options.tags", convert: tcpOptionsFull }];

/**
 * Elements whose values say themselves what they are, so that a template may have one several times: subApplicationValue of Cisco
 * (9/12235, in NetFlow v9 45003), commonPropertiesId of Juniper (2636/137), layer2SegmentId (351); or that are too wide for a number:
 * tcpOptionsFull (520).
 */
export function taggedNames(pen: number, id: number): readonly TaggedName[] | undefined {
  if ((pen === 9 && id === 12_235) || (pen === 0 && id === 45_003)) return subApplicationNames;
  if (pen === 0 && id === 351) return segmentNames;
  if (pen === 0 && id === 520) return optionNames;
  return pen === 2636 && id === 137 ? commonPropertyNames : undefined;
}
