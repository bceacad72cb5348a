import { networkOfKey, parseKey } from "../../../base/ip/index.ts";

/** A line that says what a key with host bits covers; empty for other keys. */
export function hostBitsWarning(key: string): string {
  const network = networkOfKey(parseKey(key));
  return network === undefined ? "" : `warning: ${key} has host bits: it covers all of ${network}\n`;
}
