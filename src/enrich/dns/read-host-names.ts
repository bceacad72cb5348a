import { formatAddress, parseAddress, unmapAddress } from "../../ip/index.ts";
import { quote } from "../../text/index.ts";
import { addressNumber, setWords, type AddressNumber } from "../address/words/address-words.ts";
import { readMapFile, type ReadFile } from "../files/read-map-file.ts";
import { readHostName } from "./host-name.ts";

/** Host names by address. */
export type HostNames = ReadonlyMap<AddressNumber, string>;

/**
 * Reads a file of host names: `192.0.2.1: db.example`. IPv4-mapped addresses are the IPv4 ones.
 *
 * @throws FileFindings
 */
export function readHostNames(bytes: Uint8Array): ReadFile<HostNames> {
  return readMapFile(bytes, (root, report) => {
    const names = new Map<AddressNumber, string>();
    const words = new Int32Array(4);
    for (const { key, value } of root?.pairs ?? []) {
      const address = parseAddress(key.text);
      if (address === undefined) {
        report.error(key, `${quote(key.text)} is not an IP address`);
        continue;
      }
      setWords(words, unmapAddress(address));
      const [a = 0, b = 0, c = 0, d = 0] = words;
      const number = addressNumber(a, b, c, d);
      const name = value.kind === "scalar" ? readHostName(value.text) : undefined;
      if (names.has(number)) report.error(key, `${formatAddress(unmapAddress(address))} is given twice`);
      else if (name === undefined) {
        report.error(
          value,
          `${quote(key.text)}: expected a host name: letters, digits, - and _ in labels between dots`,
        );
      } else names.set(number, name);
    }
    return names;
  });
}
