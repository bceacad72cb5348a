import { lineObjects, scopedNumber, type AddressAdditions } from "../../record/index.ts";
import type { RecordTools } from "./compile-record.ts";
import { kept } from "./kept-values.ts";
import { nameText, putText } from "./line-text.ts";
import { writeNumberAddition } from "./number-addition.ts";
import type { RecordState } from "./record-state.ts";
import { writeEstimates } from "./write-estimates.ts";
import { copyText, writeUint32 } from "./write-values.ts";

/** What of the rest depends on the plan. */
export interface DerivedOfPlan {
  readonly rateOf: (from: number) => number;
  readonly writeNames: (at: number, from: number) => number;
}

/** Returns where the line ends; -1 when the interpreter must do the record. */
export type WriteRest = (
  out: DataView,
  at: number,
  input: DataView,
  from: number,
  state: RecordState,
  derived: DerivedOfPlan,
) => number;

const icmpType = nameText("icmp.type.id");
const icmpCode = nameText("icmp.code.id");
const isIcmp = (protocol: number): boolean => protocol === 1 || protocol === 58;
const versionName = nameText("ip.version.ver");

/**
 * What comes after the fields of the template, as compiled code has it.
 *
 * @param keep what was kept of the record.
 */
export function createRestWriter(
  { enricher, writeCommunityId }: RecordTools,
  communityId: boolean,
  keep: Float64Array,
): WriteRest {
  const { addresses } = enricher;
  const numbers = enricher.numbers.map(({ scope, adds }, i) => ({
    hasScope: scope !== undefined,
    // Of several that add one name the first that has something counts.
    before: enricher.numbers.slice(0, i).flatMap((other, j) => (other.adds === adds ? [j] : [])),
  }));
  const added = new Uint8Array(numbers.length);
  const value = (place: number): number => keep[place] as number;

  return (out, at, input, from, state, { rateOf, writeNames }) => {
    let p = at;
    const sourceAt = value(kept.source);
    const sourceLength = value(kept.source + 1);
    const destinationAt = value(kept.destination);
    const destinationLength = value(kept.destination + 1);
    const destinationPort = value(kept.destinationPort);
    const mayBeIcmp = value(kept.icmpType) < 0 && value(kept.icmpCode) < 0 && value(kept.sourcePort) <= 0;
    if (mayBeIcmp && destinationPort > 0 && destinationPort <= 0xffff && isIcmp(value(kept.protocol))) {
      p = writeUint32(out, putText(out, p, icmpType), destinationPort >>> 8);
      p = writeUint32(out, putText(out, p, icmpCode), destinationPort & 0xff);
    }
    if (value(kept.hasVersion) === 0 && (sourceLength !== 0 || destinationLength !== 0)) {
      p = putText(out, p, versionName);
      out.setUint8(p++, (sourceLength !== 0 ? sourceLength : destinationLength) === 4 ? 0x34 : 0x36);
    }
    const rate = state.isRateOfRecord ? rateOf(from) : state.rate;
    if (rate >= 0) {
      p = writeEstimates(out, p, rate, value(kept.octets), value(kept.packets));
      if (p < 0) return -1;
    }
    if (state.hasNames) p = writeNames(p, from);
    if (communityId && sourceLength !== 0 && sourceLength === destinationLength) {
      p = writeCommunityId(
        out,
        p,
        input,
        sourceAt,
        destinationAt,
        sourceLength,
        value(kept.protocol),
        value(kept.sourcePort),
        destinationPort,
        value(kept.icmpType),
        value(kept.icmpCode),
      );
    }
    for (let i = 0; i < numbers.length; i++) {
      const { hasScope, before } = numbers[i] as (typeof numbers)[number];
      added[i] = 0;
      const table = state.numberTables[i];
      const number = value(kept.numbers + 2 * i);
      const scope = value(kept.numbers + 2 * i + 1);
      if (table === undefined || number < 0 || (hasScope && scope < 0)) continue;
      if (before.some((earlier) => added[earlier] !== 0)) continue;
      const end = writeNumberAddition(out, p, table, hasScope ? scopedNumber(scope, number) : number);
      if (end < 0) return -1;
      if (end > p) added[i] = 1;
      p = end;
    }
    for (let i = 0; i < addresses.length; i++) {
      const additions = addresses[i] as AddressAdditions;
      if (sourceLength !== 0) {
        const hasVlan = value(kept.hasSourceVlan) !== 0;
        const system = value(kept.sourceSystem);
        p = additions.append(lineObjects.src, input, sourceAt, sourceLength, hasVlan, out, p, system);
        if (p < 0) return -1;
      }
      if (destinationLength !== 0) {
        const hasVlan = value(kept.hasDestinationVlan) !== 0;
        const system = value(kept.destinationSystem);
        p = additions.append(lineObjects.dst, input, destinationAt, destinationLength, hasVlan, out, p, system);
        if (p < 0) return -1;
      }
      const exporter = state.exporterTexts[i] as RecordState["exporterTexts"][number];
      p = copyText(out, p, exporter.text, 0, exporter.length);
      if (additions.finish !== undefined) p = additions.finish(out, p);
    }
    for (let i = 0; i < numbers.length; i++) {
      if (added[i] !== 0) state.numbersAdded[i] = (state.numbersAdded[i] as number) + 1;
    }
    out.setUint16(p, 0x0a7d, true);
    return p + 2;
  };
}
