import { parseAddress } from "../../ip/index.ts";
import { lineObjects, type LineEnricher } from "../../record/index.ts";
import type { RecordContext } from "../template/record-reader.ts";
import type { RecordState } from "./record-state.ts";
import { writeAscii, writeSafeInteger } from "./write-values.ts";

/** What the lines of one datagram have in common, written once. */
export interface LineHead {
  readonly state: RecordState;
  /**
   * Takes the head of the records that follow.
   *
   * @returns whether their lines can be written without fields.
   */
  use(head: RecordContext["head"]): boolean;
  /** Bytes that the exporter's address adds. */
  exporterLength(): number;
  /** Tells the enricher what it gave since the last call. */
  done(): void;
}

/** Heads have some ten short fields. */
const maxLength = 4096;
const maxNames = 256;

export function createLineHead(enricher: LineEnricher): LineHead {
  const { addresses, numbers } = enricher;
  const head = Buffer.alloc(maxLength + 8);
  const view = new DataView(head.buffer, head.byteOffset, head.length);
  const state: RecordState = {
    head: view,
    headLength: 0,
    exportTime: 0,
    uptime: Number.NaN,
    isHeaderUptime: false,
    rate: -1,
    isRateOfRecord: false,
    hasNames: false,
    exporterTexts: addresses.map((additions) => ({
      text: new DataView(new ArrayBuffer(additions.maxLength + 16)),
      length: 0,
    })),
    numberTables: numbers.map(() => undefined),
    numbersAdded: numbers.map(() => 0),
  };
  const names = new Map<string, string>();
  let current: RecordContext["head"] | undefined;
  let isUsable = false;
  let exporter = "";
  let exporterBytes: DataView | undefined;

  /** `,"name":` */
  const nameText = (name: string): string => {
    const known = names.get(name);
    if (known !== undefined) return known;
    if (names.size >= maxNames) names.clear();
    const text = `,${JSON.stringify(name)}:`;
    names.set(name, text);
    return text;
  };

  const writeText = (at: number, text: string): number => {
    for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) > 0x7e) return at + head.write(text, at);
    return writeAscii(view, at, text);
  };

  const render = (fields: RecordContext["head"]): boolean => {
    let end = 0;
    for (const [name, value] of fields) {
      const label = nameText(name);
      if (typeof value === "string") {
        if (end + 3 * label.length + 6 * value.length + 2 > maxLength) return false;
        end = writeText(writeText(end, label), JSON.stringify(value));
      } else if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0) {
        if (end + 3 * label.length + 20 > maxLength) return false;
        end = writeSafeInteger(view, writeText(end, label), value);
      } else return false;
    }
    if (end === 0) return false;
    view.setUint8(0, 0x7b);
    state.headLength = end;
    return true;
  };

  const findExporter = (fields: RecordContext["head"]): boolean => {
    const text = fields.find(([name]) => name === "flow.export.ip.addr")?.[1];
    if (typeof text !== "string") return false;
    if (text !== exporter || exporterBytes === undefined) {
      const address = parseAddress(text);
      if (address === undefined) return false;
      const length = address.family === 4 ? 4 : 16;
      const bytes = Uint8Array.from(Buffer.from(address.value.toString(16).padStart(2 * length, "0"), "hex"));
      exporterBytes = new DataView(bytes.buffer);
      exporter = text;
    }
    return true;
  };

  const addExporter = (): boolean => {
    enricher.begin();
    for (let i = 0; i < addresses.length; i++) {
      const place = state.exporterTexts[i] as (typeof state.exporterTexts)[number];
      const bytes = exporterBytes as DataView;
      const end = addresses[i]?.append(lineObjects.export, bytes, 0, bytes.byteLength, false, place.text, 0) ?? -1;
      if (end < 0) return false;
      place.length = end;
    }
    for (let i = 0; i < numbers.length; i++) state.numberTables[i] = numbers[i]?.tableFor(exporter);
    return true;
  };

  return {
    state,
    use(fields) {
      if (fields === current) return isUsable;
      current = fields;
      isUsable = render(fields) && findExporter(fields) && addExporter();
      return isUsable;
    },
    exporterLength: () => state.exporterTexts.reduce((sum, { length }) => sum + length, 0),
    done() {
      for (let i = 0; i < numbers.length; i++) {
        const added = state.numbersAdded[i] as number;
        if (added === 0) continue;
        numbers[i]?.added(added);
        state.numbersAdded[i] = 0;
      }
    },
  };
}
