import { createHash } from "node:crypto";
import { protocolOf, type Protocol } from "../protocol.ts";
import { ipfixForm, netflow9Form } from "./message-writer.ts";
import { netflow5Domain, netflow5ToIpfix } from "./netflow5-to-ipfix.ts";
import type { CountDrop } from "./relay-counts.ts";
import { createRelayScopes, defaultRelayLimits, type DeviceStart, type RelayLimits } from "./relay-scope.ts";
import { addressFieldOf } from "./relay-template.ts";
import { rewriteMessage } from "./rewrite-message.ts";

export interface RelayRewriterOptions {
  /** The longest payload of a datagram, bytes. A single record that is longer goes out in a longer one. */
  readonly maxBytes: number;
  readonly limits?: Partial<RelayLimits>;
  readonly drop: CountDrop;
}

/** Who sent a datagram. */
export interface RelaySender {
  /** Canonical text, IPv4-mapped addresses as IPv4. */
  readonly address: string;
  readonly port: number;
  /** The number of the socket that is used for this sender: another one gets all templates. */
  readonly generation: number;
  /** When it came, milliseconds of a monotonic clock. */
  readonly now: number;
}

export interface RelayRewriter {
  /**
   * The datagrams by which one is passed on, each naming its sender. sFlow names its agent and stays; NetFlow v1 and v7 stay, too, for they
   * have no place for a name. Whatever the bytes are, it does not throw.
   */
  rewrite(bytes: Buffer, sender: RelaySender): readonly Buffer[];
  /** Bytes of data sets that wait for their template. */
  heldBytes(): number;
}

export function createRelayRewriter(options: RelayRewriterOptions): RelayRewriter {
  const { maxBytes, drop } = options;
  const scopes = createRelayScopes({ ...defaultRelayLimits, ...options.limits }, () => drop("no_template"));

  return {
    rewrite(bytes, { address, port, generation, now }) {
      const protocol: Protocol = protocolOf(bytes);
      if (protocol === "unknown") {
        drop("unknown_protocol");
        return [];
      }
      if (protocol === "sflow" || protocol === "netflow1" || protocol === "netflow7") return [bytes];
      const field = addressFieldOf(address);
      if (field === undefined) return [bytes];
      const common = { field, maxBytes, generation, drop };
      if (protocol === "netflow5") {
        const domain = netflow5Domain(bytes);
        const scope = scopes.of(`5 ${address} ${domain}`, port, () => domain);
        return netflow5ToIpfix(bytes, { ...common, scope, now });
      }
      if (protocol === "ipfix") {
        const domain = bytes.length < 16 ? 0 : bytes.readUInt32BE(12);
        const scope = scopes.of(`10 ${address} ${domain}`, port, () => domain);
        return rewriteMessage(bytes, { ...common, form: ipfixForm, scopes, scope });
      }
      const source = bytes.length < 20 ? 0 : bytes.readUInt32BE(16);
      // Collectors know a Source ID by the address that it comes from, which is one for all senders here.
      const key = `9 ${address} ${source}`;
      const scope = scopes.of(key, port, (isTaken) => sourceIdOf(key, isTaken), startOf(bytes));
      return rewriteMessage(bytes, { ...common, form: netflow9Form, scopes, scope });
    },
    heldBytes: () => scopes.heldBytes(),
  };
}

/** When a device started, by the header of its NetFlow v9. */
function startOf(bytes: Buffer): DeviceStart {
  const uptime = bytes.length < 20 ? 0 : bytes.readUInt32BE(4);
  return { bootTime: bytes.length < 20 ? 0 : bytes.readUInt32BE(8) * 1000 - uptime, uptime };
}

/** A Source ID that a sender keeps over restarts, and that no other has. */
function sourceIdOf(key: string, isTaken: (id: number) => boolean): number {
  let id = createHash("sha256").update(key).digest().readUInt32BE(0);
  while (isTaken(id)) id = (id + 1) >>> 0;
  return id;
}
