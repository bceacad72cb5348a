import { createSocket, type Socket } from "node:dgram";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { protocolOf, type Protocol, protocols } from "../protocol.ts";
import { ipfixForm, netflow9Form } from "./ipfix-message.ts";
import { netflow5Domain, netflow5ToIpfix } from "./rewrite-message.ts";
import { type CountDrop, relayDropReasons, type RelayDropReason } from "./ipfix-message.ts";
import { createRelayScopes, defaultRelayLimits, type DeviceStart, type RelayLimits } from "./relay-scope.ts";
import { addressFieldOf } from "./ipfix-message.ts";
import { rewriteMessage } from "./rewrite-message.ts";
import { limitLog, type Clock, type Component, type Log, type Metrics } from "../../base/report/index.ts";
import { openSocket } from "../intake/socket.ts";
import { askReceiveBuffer } from "../intake/socket.ts";
import { senderAddress } from "../intake/socket.ts";

/** Where datagrams are passed on to. */
interface TeeTarget {
  /** As the operator wrote it. */
  readonly name: string;
  /** An address of IPv4 or IPv6. */
  readonly address: string;
  readonly port: number;
}

/** The sockets of one sender: a port of its own towards the targets, so that they can tell senders apart. */
interface SenderSockets {
  /** Another number than that of any other. */
  readonly generation: number;
  usedAt: number;
  readonly byFamily: Map<"udp4" | "udp6", Socket>;
}

interface SenderSocketTable {
  /** Those of a sender, opened on first sight. Beyond the limit the ones not used for longest are closed. */
  of(sender: string, now: number): SenderSockets;
  send(sockets: SenderSockets, bytes: Uint8Array, target: TeeTarget): void;
  /** Closes those that were not used since a time. */
  closeIdle(before: number): void;
  count(): number;
  /** Resolves when everything is sent, or after a second, and closes all. */
  stop(): Promise<void>;
}

interface SenderSocketOptions {
  readonly maxSenders: number;
  readonly sent: (target: TeeTarget) => void;
  readonly dropped: (target: TeeTarget, reason: "queue" | "send", error?: Error) => void;
}

/** Datagrams that may wait in one socket. */
const maxQueued = 1000;
const stopWithinMs = 1000;

function createSenderSockets({ maxSenders, sent, dropped }: SenderSocketOptions): SenderSocketTable {
  const senders = new Map<string, SenderSockets>();
  let generations = 0;
  let pending = 0;
  let idle = (): void => {};

  const close = (key: string, { byFamily }: SenderSockets): void => {
    senders.delete(key);
    for (const socket of byFamily.values()) socket.close();
  };
  const socketFor = (sockets: SenderSockets, target: TeeTarget): Socket => {
    const type = target.address.includes(":") ? "udp6" : "udp4";
    let socket = sockets.byFamily.get(type);
    if (socket === undefined) {
      const family = type === "udp6" ? 6 : 4;
      // Targets are addresses: nothing is looked up, so that order is kept.
      socket = createSocket({ type, lookup: (host, _options, done) => done(null, host, family) });
      socket.on("error", (error) => dropped(target, "send", error));
      sockets.byFamily.set(type, socket);
    }
    return socket;
  };

  return {
    of(key, now) {
      let sockets = senders.get(key);
      if (sockets === undefined) {
        if (senders.size >= maxSenders) {
          for (const [oldest, unused] of senders) {
            close(oldest, unused);
            break;
          }
        }
        sockets = { generation: generations++, usedAt: now, byFamily: new Map() };
      } else senders.delete(key);
      // The order of insertion is the order of use.
      senders.set(key, sockets);
      sockets.usedAt = now;
      return sockets;
    },
    send(sockets, bytes, target) {
      const socket = socketFor(sockets, target);
      if (socket.getSendQueueCount() >= maxQueued) {
        dropped(target, "queue");
        return;
      }
      pending++;
      socket.send(bytes, target.port, target.address, (error) => {
        pending--;
        if (error === null) sent(target);
        else dropped(target, "send", error);
        if (pending === 0) idle();
      });
    },
    closeIdle(before) {
      for (const [key, sockets] of senders) {
        if (sockets.usedAt >= before) break;
        close(key, sockets);
      }
    },
    count: () => senders.size,
    async stop() {
      if (pending > 0) {
        let timer: NodeJS.Timeout | undefined;
        await new Promise<void>((resolve) => {
          idle = resolve;
          timer = setTimeout(resolve, stopWithinMs);
        });
        clearTimeout(timer);
      }
      for (const [key, sockets] of senders) close(key, sockets);
    },
  };
}

export interface RelayRewriterOptions {
  /** The longest payload of a datagram, bytes. A single record that is longer goes out in a longer one. */
  readonly maxBytes: number;
  readonly limits?: Partial<RelayLimits>;
  readonly drop: CountDrop;
}

/** Who sent a datagram. */
interface RelaySender {
  /** Canonical text, IPv4-mapped addresses as IPv4. */
  readonly address: string;
  readonly port: number;
  /** The number of the socket that is used for this sender: another one gets all templates. */
  readonly generation: number;
  /** When it came, milliseconds of a monotonic clock. */
  readonly now: number;
}

interface RelayRewriter {
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

export interface TeeOptions {
  /** The address to bind; empty is all. */
  readonly ip: string;
  /** 0 lets the system choose. */
  readonly port: number;
  readonly targets: readonly TeeTarget[];
  /** The longest payload of a datagram, bytes. */
  readonly maxBytes: number;
  /** Senders that have a socket of their own at a time. */
  readonly maxSenders: number;
  readonly receiveBufferBytes: number;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly clock: Clock;
}

export interface Tee extends Component {
  /** The port that is open; 0 before the start. */
  port(): number;
}

/** The socket of a sender that is silent this long is closed, milliseconds. */
const idleMs = 30 * 60_000;
const tidyEveryMs = 60_000;

/** Receives flow datagrams by UDP and passes each on to every target, naming its sender. Its start fails with a FlowListenError. */
export function createTee(options: TeeOptions): Tee {
  const { ip, port, targets, maxBytes, maxSenders, metrics, clock } = options;
  const log = limitLog(options.log, clock);
  const names = targets.map(({ name }) => name);
  const received = metrics.counter("netgloss_tee_datagrams_total", "Datagrams received, by protocol.", {
    protocol: protocols,
  });
  const changed = metrics.counter(
    "netgloss_tee_rewritten_total",
    "Datagrams that were rewritten to name their sender.",
  );
  const nameless = metrics.counter(
    "netgloss_tee_nameless_total",
    "Datagrams of NetFlow v1 and v7, which are passed on without the sender's address.",
  );
  const sent = metrics.counter("netgloss_tee_sent_total", "Datagrams sent, by target.", { target: names });
  const notSent = metrics.counter("netgloss_tee_send_drops_total", "Datagrams that a target did not get, by reason.", {
    target: names,
    reason: ["queue", "send"],
  });
  const drops = metrics.counter(
    "netgloss_tee_drops_total",
    "Datagrams, sets, templates and records that were not passed on, by reason.",
    { reason: relayDropReasons },
  );

  let from = "";
  const drop = (reason: RelayDropReason): void => {
    drops.add(1, { reason });
    log.warn({ sender: from, reason }, dropMessage[reason]);
  };
  const rewriter = createRelayRewriter({ maxBytes, drop });
  const senders = createSenderSockets({
    maxSenders,
    sent: ({ name }) => sent.add(1, { target: name }),
    dropped({ name }, reason, error) {
      notSent.add(1, { target: name, reason });
      log.error({ target: name, reason: error?.message ?? reason }, "a datagram could not be passed on");
    },
  });
  metrics.gaugeFrom("netgloss_tee_senders", "Senders that have a socket.", [], () => senders.count());
  metrics.gaugeFrom("netgloss_tee_waiting_bytes", "Bytes of data sets that wait for their template.", [], () =>
    rewriter.heldBytes(),
  );

  const take = (bytes: Buffer, address: string, senderPort: number): void => {
    const protocol = protocolOf(bytes);
    received.add(1, { protocol });
    from = address;
    if (protocol === "unknown") {
      drop("unknown_protocol");
      return;
    }
    const now = clock.monotonic();
    const sockets = senders.of(`${protocol} ${address} ${senderPort}`, now);
    const { generation } = sockets;
    const datagrams = rewriter.rewrite(bytes, { address, port: senderPort, generation, now });
    if (protocol === "netflow1" || protocol === "netflow7") {
      nameless.add();
      log.warn(
        { sender: address, protocol },
        "NetFlow v1 and v7 cannot name their sender: they seem to come from this host",
      );
    } else if (datagrams[0] !== bytes) changed.add();
    for (const datagram of datagrams) for (const target of targets) senders.send(sockets, datagram, target);
  };

  let socket: Socket | undefined;
  let timer: NodeJS.Timeout | undefined;
  return {
    name: "tee",
    async start() {
      const opened = await openSocket(ip, port);
      socket = opened;
      opened.on("message", (bytes, sender) => take(bytes, senderAddress(sender.address), sender.port));
      opened.on("error", (error) => log.error({ error }, "error on the socket"));
      askReceiveBuffer(opened, options.receiveBufferBytes, options.log);
      const at = opened.address();
      options.log.info({ address: at.address, port: at.port, targets: names }, "passing flows on");
      timer = setInterval(() => senders.closeIdle(clock.monotonic() - idleMs), tidyEveryMs);
    },
    async stop() {
      clearInterval(timer);
      if (socket !== undefined) {
        const closed = once(socket, "close");
        socket.close();
        socket = undefined;
        await closed;
      }
      await senders.stop();
    },
    port: () => socket?.address().port ?? 0,
  };
}

const dropMessage: Readonly<Record<RelayDropReason, string>> = {
  unknown_protocol: "a datagram of no flow protocol was dropped",
  short_header: "a datagram that is shorter than its header was dropped",
  bad_length: "a message with wrong lengths was passed on as far as it could be read",
  bad_template: "a template that cannot be read was dropped",
  template_limit: "there are too many templates: one was dropped",
  wrong_template: "a data set does not fit its template and waits for another one",
  no_template: "a data set whose template did not come was dropped",
  cut_record: "a record that runs past the end of its set was dropped",
  reserved_set: "a set with a reserved id was dropped",
  too_long: "a record that fits into no datagram was dropped",
};
