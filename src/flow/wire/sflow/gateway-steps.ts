import type { StepBook } from "../steps/step-book.ts";
import type { StepList } from "../steps/step-list.ts";
import { addAddress, type StructureSteps } from "./structure-steps.ts";
import type { ByteSource } from "../steps/step-value.ts";

/** More than a number of a path takes in a line, with a segment around it. */
const maxNumber = 12;
const maxSegment = 4;
/** And a community. */
const maxCommunity = 14;

/**
 * For extended gateway data: next hop, the router's own AS, those of the source and of the peer that it came from, segments of the AS path to the destination,
 * communities, local preference. The destination's AS is the last of the path, the next peer the first. An end that is within the
 * router's own AS is not in any path: then the source is 0, or the path is empty, and the end's AS is the router's.
 */
export function createGatewaySteps(book: StepBook): StructureSteps {
  const number = (name: string) => book.field(name, "number");
  const steps = {
    nextHop4: book.field("flow.bgp.next_hop.ip.addr", "ipv4"),
    nextHop6: book.field("flow.bgp.next_hop.ip.addr", "ipv6"),
    exporterAs: number("flow.export.as.asn"),
    sourceAs: number("flow.src.as.asn"),
    previousAs: number("hop.src.as.asn"),
    previousLabel: book.field("hop.src.as.label", "asLabel"),
    path: book.field("flow.bgp.as_path", "path"),
    nextAs: number("hop.dst.as.asn"),
    nextLabel: book.field("hop.dst.as.label", "asLabel"),
    destinationAs: number("flow.dst.as.asn"),
    communities: book.field("flow.bgp.communities", "communities"),
    preference: number("flow.bgp.local_pref"),
  };

  /** Adds the path and what follows from it. @returns where it ends, -1 when that is behind `end`. */
  const addPath = (list: StepList, { view }: ByteSource, ownAs: number, at: number, end: number): number => {
    if (end - at < 4) return -1;
    const segments = view.getUint32(at);
    let position = at + 4;
    let first = -1;
    let last = -1;
    let numbers = 0;
    for (let i = 0; i < segments; i++) {
      if (end - position < 8) return -1;
      const count = view.getUint32(position + 4);
      position += 8;
      if (count > (end - position) >>> 2) return -1;
      numbers += count;
      if (count > 0) {
        if (first < 0) first = view.getUint32(position);
        last = view.getUint32(position + 4 * count - 4);
      }
      position += 4 * count;
    }
    if (first >= 0) {
      list.addLong(steps.path, at, maxNumber * numbers + maxSegment * segments);
      list.add(steps.nextAs, first);
      if (first > 0) list.add(steps.nextLabel, first);
      list.add(steps.destinationAs, last);
    } else if (ownAs > 0) list.add(steps.destinationAs, ownAs);
    return position;
  };

  return {
    wholes: [],
    add(list, source, at, end) {
      const { view } = source;
      let position = addAddress(list, steps.nextHop4, steps.nextHop6, source, at, end);
      if (position < 0 || end - position < 4) return "cut";
      const ownAs = view.getUint32(position);
      list.add(steps.exporterAs, ownAs);
      if (end - position < 8) return "cut";
      const sourceAs = view.getUint32(position + 4);
      list.add(steps.sourceAs, sourceAs === 0 ? ownAs : sourceAs);
      if (end - position < 12) return "cut";
      const previousAs = view.getUint32(position + 8);
      list.add(steps.previousAs, previousAs);
      if (previousAs > 0) list.add(steps.previousLabel, previousAs);
      position = addPath(list, source, ownAs, position + 12, end);
      if (position < 0 || end - position < 4) return "cut";
      const communities = view.getUint32(position);
      if (communities > (end - position - 4) >>> 2) return "cut";
      if (communities > 0) list.addLong(steps.communities, position, maxCommunity * communities);
      position += 4 + 4 * communities;
      if (end - position < 4) return "cut";
      list.add(steps.preference, view.getUint32(position));
      return position + 4 === end ? "whole" : "more";
    },
  };
}
