import { randomBytes as systemRandomBytes } from "node:crypto";
import { connect } from "node:net";
import { formatAddress, parseAddress, unmapAddress } from "../../ip/index.ts";
import { limitLog, type Clock, type Log, type Metrics } from "../../report/index.ts";
import { createCommunityRequester } from "./community-requester.ts";
import { createSession } from "./create-session.ts";
import { checkCredential, type Credential } from "./credential.ts";
import { createExchanges } from "./exchange.ts";
import { createPeer, peerName, type Peer, type Transport } from "./peer.ts";
import { createIdSource, createSaltSource, type RandomBytes } from "./random-source.ts";
import type { RequesterContext } from "./requester.ts";
import { registerSessionMetrics } from "./session-metrics.ts";
import type { Session } from "./session.ts";
import { SnmpError } from "./snmp-error.ts";
import type { OpenStream } from "./stream-pool.ts";
import { openUdpSocket, type OpenUdpSocket } from "./udp-socket.ts";
import { createUsmRequester } from "./usm-requester.ts";
import { createKeyCache } from "./usm/key-cache.ts";
import { quote } from "../../text/index.ts";

export interface SnmpClientOptions {
  readonly metrics: Metrics;
  readonly log: Log;
  readonly clock: Clock;
  /** What `net.core.rmem_max` cuts is seen in `netgloss_snmp_receive_buffer_bytes`. Default 8 MiB. */
  readonly receiveBufferBytes?: number;
  readonly randomBytes?: RandomBytes;
  readonly openSocket?: OpenUdpSocket;
  readonly openStream?: OpenStream;
}

/** Which agent is asked, with what, and how long its answers are waited for. */
export interface SessionTarget {
  /** IPv4 or IPv6 address in text form; names are not looked up. */
  readonly ip: string;
  /** 1 to 65535. */
  readonly port: number;
  /** Default: UDP. */
  readonly transport?: Transport;
  readonly credential: Credential;
  /** Milliseconds to wait for an answer to each try. */
  readonly timeout: number;
  /** Tries after the first. */
  readonly retries: number;
  /** Whether each try waits twice as long as the one before. */
  readonly exponentialTimeout: boolean;
  /** Awaited before each message, those that find out the engine included; retries of a message do not wait. */
  readonly turn?: () => Promise<void>;
}

/**
 * Talks SNMP to any number of agents over one UDP socket for each address family, and one connection for each agent that is asked by
 * TCP. They are opened at the first request.
 */
export interface SnmpClient {
  /**
   * Opens a session; nothing is sent. Sessions of one address, port and transport share counts and what is known of the engine.
   *
   * @throws SnmpError `invalid` when the target breaks a rule.
   */
  open(target: SessionTarget): Session;
  /** Closes sockets and connections for good. Requests that wait, and those of sessions that are still open, fail with `closed`. */
  close(): void;
}

interface SharedPeer {
  readonly peer: Peer;
  sessions: number;
}

const keyOf = (address: string, port: number, transport: Transport): string =>
  `${transport} ${peerName(address, port)}`;

export function createSnmpClient(options: SnmpClientOptions): SnmpClient {
  const { clock, randomBytes = systemRandomBytes } = options;
  const counts = registerSessionMetrics(options.metrics);
  const peers = new Map<string, SharedPeer>();
  const keys = createKeyCache();
  const nextSalt = createSaltSource(randomBytes);
  const exchanges = createExchanges({
    counts,
    log: limitLog(options.log, clock),
    nextId: createIdSource(randomBytes),
    openSocket: options.openSocket ?? openUdpSocket,
    openStream: options.openStream ?? ((address, port) => connect(port, address)),
    receiveBufferBytes: options.receiveBufferBytes ?? 8 * 1024 * 1024,
    findPeer: (address, port) => peers.get(keyOf(address, port, "udp"))?.peer,
  });

  const sharePeer = (ip: string, port: number, transport: Transport): SharedPeer => {
    const parsed = parseAddress(ip);
    if (parsed === undefined) throw new SnmpError("invalid", `not an IP address: ${quote(ip)}`);
    if (!Number.isInteger(port) || port < 1 || port > 65_535) throw new SnmpError("invalid", `not a port: ${port}`);
    const address = unmapAddress(parsed);
    const text = formatAddress(address);
    const name = keyOf(text, port, transport);
    const shared = peers.get(name) ?? { peer: createPeer(address.family, text, port, transport), sessions: 0 };
    peers.set(name, shared);
    return shared;
  };

  return {
    open(target) {
      const { credential, timeout, retries, exponentialTimeout } = target;
      checkCredential(credential);
      if (!(timeout > 0 && timeout <= 0x7fffffff)) throw new SnmpError("invalid", `not a time-out: ${timeout}`);
      if (!Number.isInteger(retries) || retries < 0)
        throw new SnmpError("invalid", `not a number of tries: ${retries}`);
      const shared = sharePeer(target.ip, target.port, target.transport ?? "udp");
      const { peer } = shared;
      shared.sessions++;
      const owner = {};
      const { turn } = target;
      const context: RequesterContext = {
        run({ build, read }) {
          const exchange = { peer, timeout, retries, exponentialTimeout, build, read };
          // Without turns it is sent at once, before the session can be closed.
          return turn === undefined
            ? exchanges.run(exchange, owner)
            : turn().then(() => exchanges.run(exchange, owner));
        },
      };
      const onReport = (): void => void counts.reports++;
      const requester =
        credential.version === "3"
          ? createUsmRequester(credential, { ...context, peer, clock, keys, nextSalt, onReport })
          : createCommunityRequester(credential, context);
      return createSession(credential.version, peer, requester, () => {
        exchanges.cancel(owner);
        if (--shared.sessions > 0) return;
        peers.delete(keyOf(peer.address, peer.port, peer.transport));
        exchanges.release(peer);
      });
    },
    close: () => exchanges.close(),
  };
}
