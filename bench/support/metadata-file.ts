import { appendFileSync, writeFileSync } from "node:fs";

/**
 * A metadata file of `count` entries in 10.0.0.0/8, as an address plan has them: for each 256 entries one /16, two /20,
 * 197 /24 and 56 single hosts, so that an address has one to four entries that cover it.
 */
export function writeMetadataFile(path: string, count: number): void {
  const parts: string[] = [];
  for (let i = 0; i < count; i++) parts.push(entry(i));
  writeFileSync(path, parts.join(""));
}

/** Adds a /120 below 2001:db8::/96 for each of the first 4 096 networks of 10.0.0.0/8. */
export function addIpv6Entries(path: string): void {
  const parts: string[] = [];
  for (let i = 0; i < 4096; i++) {
    parts.push(entry(i, `2001:db8::a${(i >> 8).toString(16).padStart(2, "0")}:${(i & 255).toString(16)}00/120`));
  }
  appendFileSync(path, parts.join(""));
}

/** The key of an entry; all are different below 65 536, and beyond that the hosts and halves of networks go on. */
export function metadataKey(i: number): string {
  const round = i >> 16;
  const site = (i >> 8) & 255;
  const n = i & 255;
  if (round > 0) return `10.${site}.${n}.${round}`;
  if (n === 0) return `10.${site}.0.0/16`;
  if (n <= 2) return `10.${site}.${n * 64}.0/20`;
  return n < 200 ? `10.${site}.${n}.0/24` : `10.${site}.${n}.200`;
}

function entry(i: number, key = metadataKey(i)): string {
  const site = (i >> 8) & 255;
  return [
    `${key}:`,
    `  name: net-${i}`,
    `  tags: [site-${site}, prod]`,
    `  vlan: ${(i % 4000) + 1}`,
    "  metadata:",
    `    .site.name: Site ${site}`,
    "",
  ].join("\n");
}
