/** What is out of the common in a plan: `range`, `contexts` in its widest entries, `keys` in those of hosts. */
export type EntryShape = "plain" | "none" | "range" | "contexts" | "keys";

/** Of each /24 with an entry, those that have one of their own. */
const hosts = 20;

/**
 * A metadata file of some 350 000 entries in 20.0.0.0/8: each /16 and /20, every fourth /24 and in it twenty hosts, so that four
 * entries cover a host.
 */
export function addressPlan(shape: EntryShape): string {
  if (shape === "none") return "";
  const parts: string[] = [];
  for (let site = 0; site < 256; site++) {
    const wide = shape === "range" ? `20.${site}.0.0-20.${site}.255.250` : `20.${site}.0.0/16`;
    parts.push(entry(wide, site, ".site.name"), ...(shape === "contexts" ? ["  contexts: [endpoint]\n"] : []));
    for (let n = 0; n < 256; n += 16) parts.push(entry(`20.${site}.${n}.0/20`, n, ".floor"));
    for (let n = 0; n < 256; n += 4) {
      parts.push(entry(`20.${site}.${n}.0/24`, n, ".network"));
      for (let host = 1; host <= hosts; host++) {
        const key = shape === "keys" ? `.rack${(site * 64 + n) % 2000}` : ".rack";
        parts.push(entry(`20.${site}.${n}.${host}`, host, key));
      }
    }
  }
  return parts.join("");
}

/** The addresses of the hosts as numbers, in an order that has nothing to do with that of the plan. */
export function hostsOf(): Uint32Array {
  return addresses(hosts, 1);
}

/** As many that have no entry of their own. */
export function othersOf(): Uint32Array {
  return addresses(hosts, 100);
}

function addresses(each: number, first: number): Uint32Array {
  const count = 256 * 64 * each;
  return Uint32Array.from({ length: count }, (_, i) => {
    // A prime that does not divide the count: each number comes once.
    const n = (i * 104_729) % count;
    const network = Math.floor(n / each);
    return (20 << 24) | (network << 10) | (first + (n % each));
  });
}

function entry(key: string, n: number, name: string): string {
  return [
    `${key}:`,
    `  name: net-${n}`,
    `  tags: [site-${n}, prod]`,
    `  vlan: ${(n % 4000) + 1}`,
    "  metadata:",
    `    ${name}: Site ${n}`,
    "",
  ].join("\n");
}
