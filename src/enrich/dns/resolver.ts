import { promises } from "node:dns";
import type { Address } from "../../ip/index.ts";

/** Asks name servers. */
export interface Resolver {
  /** The names of an address by its PTR records. Rejects with an error whose `code` is one of Node's DNS errors. */
  reverse(address: Address): Promise<readonly string[]>;
  /** Makes all that is under way reject. */
  cancel(): void;
}

/**
 * @param servers addresses, each with or without a port; none: those of the host's configuration.
 * @param timeoutMs for one try; there are two.
 */
export function createResolver(servers: readonly string[], timeoutMs: number): Resolver {
  const resolver = new promises.Resolver({ timeout: timeoutMs, tries: 2 });
  if (servers.length > 0) resolver.setServers(servers);
  return {
    // Not `reverse`: that asks the hosts file, too, and calls a server's failure a name that does not exist.
    reverse: (address) => resolver.resolvePtr(reverseName(address)),
    cancel: () => resolver.cancel(),
  };
}

/** The name under which the reverse zone has an address (RFC 1035 section 3.5, RFC 3596 section 2.5). */
function reverseName({ family, value }: Address): string {
  if (family === 4) {
    const number = Number(value);
    return `${number & 255}.${(number >>> 8) & 255}.${(number >>> 16) & 255}.${number >>> 24}.in-addr.arpa`;
  }
  return `${[...value.toString(16).padStart(32, "0")].toReversed().join(".")}.ip6.arpa`;
}
