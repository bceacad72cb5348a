import { quote } from "../../base/text/index.ts";
import { readKey } from "../files/read-key.ts";
import { readMapFile, type ReadFile } from "../files/read-map-file.ts";

const maxRate = 0xffff_ffff;

/**
 * Reads a file of sampling rates: `192.0.2.1: 1000`, one of how many packets the exporter looks at. Keys are addresses, CIDRs or ranges.
 *
 * @returns rates by the canonical text of the key.
 * @throws FileFindings
 */
export function readSampleRates(bytes: Uint8Array): ReadFile<ReadonlyMap<string, number>> {
  return readMapFile(bytes, (root, report) => {
    const rates = new Map<string, number>();
    for (const { key: keyNode, value } of root?.pairs ?? []) {
      const key = readKey(keyNode, report);
      if (key === undefined) continue;
      const rate = value.kind === "scalar" && /^[1-9][0-9]{0,9}$/.test(value.text) ? Number(value.text) : Number.NaN;
      if (rates.has(key.text)) report.error(keyNode, `exporter ${quote(keyNode.text)} is given twice`);
      else if (!(rate <= maxRate)) {
        report.error(
          value,
          `exporter ${quote(keyNode.text)}: expected a sampling rate, a whole number from 1 to 2^32 - 1`,
        );
      } else rates.set(key.text, rate);
    }
    return rates;
  });
}
