import type { Facts } from "./facts.ts";

/** An exporter as sentences have it: `edge-2 (192.0.2.7)`, or the address alone where metadata has no name for it. */
export function exporterText(address: string, { names }: Pick<Facts, "names">): string {
  const name = names.get(address);
  return name === undefined || name === address ? address : `${name} (${address})`;
}
