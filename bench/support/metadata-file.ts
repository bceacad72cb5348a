import { writeFileSync } from "node:fs";

/**
 * A metadata file of `count` entries in 10.0.0.0/8, as an address plan has them: for each 256 entries one /16, two /20,
 * 197 /24 and 56 single hosts, so that an address has one to four entries that cover it. For IPv6 the same plan lies in
 * 2001:db8:a00::/40, with /48, /52, /56 and /64.
 */
export function writeMetadataFile(path: string, count: number, family: 4 | 6 = 4): void {
  const parts: string[] = [];
  for (let i = 0; i < count; i++) parts.push(entry(family === 4 ? metadataKey(i) : metadataKey6(i), i));
  writeFileSync(path, parts.join(""));
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

function metadataKey6(i: number): string {
  const round = i >> 16;
  const n = i & 255;
  const at = (third: number, fourth: number, length: number): string =>
    `2001:db8:${(0xa00 + ((i >> 8) & 255)).toString(16)}:${((third << 8) + fourth).toString(16)}::/${length}`;
  if (round > 0) return at(n, round, 64);
  if (n === 0) return at(0, 0, 48);
  if (n <= 2) return at(n * 64, 0, 52);
  return n < 200 ? at(n, 0, 56) : at(n, 200, 64);
}

function entry(key: string, i: number): string {
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
