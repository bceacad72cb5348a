import { parseAddress } from "../../../base/ip/index.ts";
import { lineObjects, type LineEnricher, type NumberTable } from "../../../record/index.ts";

/** What an enricher adds for the exporter, to every line of a datagram. */
export interface ExporterAdditions {
  /** By the position of the address additions. */
  readonly texts: { readonly text: DataView; length: number }[];
  /** By the position of the number additions: the table for the exporter, and how many records got something of it. */
  readonly numberTables: (NumberTable | undefined)[];
  readonly numbersAdded: number[];
  /**
   * Begins a datagram.
   *
   * @param exporter its address as records have it.
   * @returns whether its lines can be written without fields.
   */
  use(exporter: string): boolean;
  /** Bytes of all texts. */
  length(): number;
  /** Reports to the enricher what it gave since the last call. */
  done(): void;
}

const maxAddresses = 4096;

export function createExporterAdditions(enricher: LineEnricher): ExporterAdditions {
  const { addresses, numbers } = enricher;
  const texts = addresses.map((additions) => ({
    text: new DataView(new ArrayBuffer(additions.maxLength + 16)),
    length: 0,
  }));
  const numberTables: ExporterAdditions["numberTables"] = numbers.map(() => undefined);
  const numbersAdded = numbers.map(() => 0);
  const known = new Map<string, DataView>();

  const bytesOf = (text: string): DataView | undefined => {
    const before = known.get(text);
    if (before !== undefined) return before;
    const address = parseAddress(text);
    if (address === undefined) return undefined;
    const length = address.family === 4 ? 4 : 16;
    const bytes = Uint8Array.from(Buffer.from(address.value.toString(16).padStart(2 * length, "0"), "hex"));
    const view = new DataView(bytes.buffer);
    if (known.size >= maxAddresses) known.clear();
    known.set(text, view);
    return view;
  };

  return {
    texts,
    numberTables,
    numbersAdded,
    use(exporter) {
      const bytes = bytesOf(exporter);
      if (bytes === undefined || enricher.needsFields?.(exporter) === true) return false;
      enricher.begin();
      for (let i = 0; i < addresses.length; i++) {
        const place = texts[i] as (typeof texts)[number];
        const end = addresses[i]?.append(lineObjects.export, bytes, 0, bytes.byteLength, false, place.text, 0) ?? -1;
        if (end < 0) return false;
        place.length = end;
      }
      for (let i = 0; i < numbers.length; i++) numberTables[i] = numbers[i]?.tableFor(exporter);
      return true;
    },
    length() {
      let sum = 0;
      for (let i = 0; i < texts.length; i++) sum += (texts[i] as (typeof texts)[number]).length;
      return sum;
    },
    done() {
      for (let i = 0; i < numbers.length; i++) {
        const added = numbersAdded[i] as number;
        if (added === 0) continue;
        numbers[i]?.added(added);
        numbersAdded[i] = 0;
      }
    },
  };
}
