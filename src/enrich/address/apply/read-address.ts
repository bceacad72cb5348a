import { parseAddress, unmapAddress } from "../../../base/ip/index.ts";
import type { Value } from "../../../record/index.ts";
import type { Log } from "../../../base/report/index.ts";
import { setWords } from "../words/address-words.ts";
import { quote } from "../../../base/text/index.ts";

/** Reads the addresses of records. */
export interface ReadAddress {
  readonly counts: { readonly badAddresses: number };
  /**
   * @param value a text or a list, of which the first counts.
   * @returns four words, IPv4 in its mapped form, which may be read until the next call; undefined when it is no address.
   */
  read(value: Value | undefined): Int32Array | undefined;
}

/** Texts of IPv6 addresses that are remembered, because reading one takes longer than all else. */
const maxRemembered = 1024;

/** @param log limited. */
export function createReadAddress(log: Log): ReadAddress {
  const counts = { badAddresses: 0 };
  const words = new Int32Array(4);
  const remembered = new Map<string, Int32Array>();
  return {
    counts,
    read(value) {
      const text = typeof value === "object" ? value[0] : value;
      if (typeof text !== "string") return undefined;
      const known = remembered.get(text);
      if (known !== undefined) return known;
      const address = parseAddress(text);
      if (address === undefined) {
        counts.badAddresses++;
        log.warn({ address: quote(text) }, "a record's address is not an IP address");
        return undefined;
      }
      setWords(words, unmapAddress(address));
      if (address.family === 6) {
        if (remembered.size >= maxRemembered) remembered.clear();
        remembered.set(text, words.slice());
      }
      return words;
    },
  };
}
