import { formatAddress, formatAddressBytes, parseAddress, unmapAddress } from "../../../base/ip/index.ts";
import type { Plan } from "../../exporters/templates/plan.ts";
import type { ByteRange } from "../decoder/flow-reader.ts";
import { createFieldPlaces, locateFields } from "./read-step.ts";
import { isPadding } from "./record-reader.ts";

/** Records of a data set that follow one another and name the same exporter. */
export interface ExporterRun {
  readonly start: number;
  /** Exclusive; of the last run the end of the set. */
  readonly end: number;
  readonly records: number;
  /** In canonical text; undefined where the records name nobody. */
  readonly exporter: string | undefined;
}

/** Cuts a data set where the named exporter changes. An address of zeros names nobody. Whatever the bytes are, it does not throw. */
export function* exporterRuns(plan: Plan, range: ByteRange): Iterable<ExporterRun> {
  const { bytes, start, end } = range;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const places = createFieldPlaces(plan.lengths.length);
  let run = { start, records: 0, at: -1, length: 0 };
  let at = start;
  const named = ({ at: from, length }: typeof run): string | undefined =>
    from < 0 ? undefined : canonicalAddress(formatAddressBytes(bytes, from, length === 4 ? 4 : 6));
  while (end - at >= plan.minLength && !isPadding(plan, view, at, start, end)) {
    const next = locateFields(plan, bytes, at, end, places);
    if (next < 0) break;
    const field = plan.exporterFields.find((each) => !isZeroAt(bytes, places, each)) ?? -1;
    const from = field < 0 ? -1 : (places.offsets[field] as number);
    const length = field < 0 ? 0 : (places.lengths[field] as number);
    const isSame =
      length === run.length &&
      (length === 0 || bytes.compare(bytes, run.at, run.at + length, from, from + length) === 0);
    if (run.records > 0 && !isSame) {
      yield { start: run.start, end: at, records: run.records, exporter: named(run) };
      run = { start: at, records: 0, at: from, length };
    } else if (run.records === 0) run = { ...run, at: from, length };
    run.records++;
    at = next;
  }
  yield { start: run.start, end, records: run.records, exporter: named(run) };
}

/** The text of an address as exporters have it: IPv4-mapped ones as IPv4. */
export function canonicalAddress(text: string): string {
  const address = parseAddress(text);
  return address === undefined ? text : formatAddress(unmapAddress(address));
}

function isZeroAt(bytes: Buffer, { offsets, lengths }: ReturnType<typeof createFieldPlaces>, field: number): boolean {
  const from = offsets[field] as number;
  for (let i = from + (lengths[field] as number) - 1; i >= from; i--) if (bytes[i] !== 0) return false;
  return true;
}
