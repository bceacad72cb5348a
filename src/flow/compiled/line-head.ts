import type { LineEnricher } from "../../record/index.ts";
import type { RecordContext } from "../template/record-reader.ts";
import { createExporterAdditions } from "./exporter-additions.ts";
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
  const exporter = createExporterAdditions(enricher);
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
    exporterTexts: exporter.texts,
    numberTables: exporter.numberTables,
    numbersAdded: exporter.numbersAdded,
  };
  const names = new Map<string, string>();
  let current: RecordContext["head"] | undefined;
  let isUsable = false;

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

  const useExporter = (fields: RecordContext["head"]): boolean => {
    const text = fields.find(([name]) => name === "flow.export.ip.addr")?.[1];
    return typeof text === "string" && exporter.use(text);
  };

  return {
    state,
    use(fields) {
      if (fields === current) return isUsable;
      current = fields;
      isUsable = render(fields) && useExporter(fields);
      return isUsable;
    },
    exporterLength: () => exporter.length(),
    done: () => exporter.done(),
  };
}
