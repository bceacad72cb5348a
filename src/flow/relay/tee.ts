import { createSocket, type Socket } from "node:dgram";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { limitLog, type Component, type Log, type Metrics, type Reporting } from "../../base/report/index.ts";
import { askReceiveBuffer, openSocket } from "../intake/socket.ts";
import { senderAddress } from "../datagram.ts";
import { protocolOf, type Protocol, protocols } from "../datagram.ts";
import {
  addressFieldOf,
  ipfixForm,
  netflow9Form,
  relayDropReasons,
  type CountDrop,
  type RelayDropReason,
} from "./ipfix-message.ts";
import { defaultRelayLimits, RelayScopes, type DeviceStart, type RelayLimits } from "./relay-scope.ts";
import { netflow5Domain, netflow5ToIpfix, rewriteMessage } from "./rewrite-message.ts";

/** A target to which datagrams are passed on. */
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

/** Datagrams that may wait in one socket. */
const maxQueued = 1000;
const stopWithinMs = 1000;

/** A socket for each sender, at most so many. */
class SenderSocketTable {
  readonly #maxSenders: number;
  readonly #sent: (target: TeeTarget) => void;
  readonly #dropped: (target: TeeTarget, reason: "queue" | "send", error?: Error) => void;
  /** The order of insertion is the order of use. */
  readonly #senders = new Map<string, SenderSockets>();
  #generations = 0;
  #pending = 0;
  #idle = (): void => {};

  constructor(
    maxSenders: number,
    sent: (target: TeeTarget) => void,
    dropped: (target: TeeTarget, reason: "queue" | "send", error?: Error) => void,
  ) {
    this.#maxSenders = maxSenders;
    this.#sent = sent;
    this.#dropped = dropped;
  }

  /** Returns the sockets of a sender, opened on first sight. Beyond the limit the ones not used for longest are closed. */
  of(key: string, now: number): SenderSockets {
    let sockets = this.#senders.get(key);
    if (sockets === undefined) {
      if (this.#senders.size >= this.#maxSenders) {
        for (const [oldest, unused] of this.#senders) {
          this.#close(oldest, unused);
          break;
        }
      }
      sockets = { generation: this.#generations++, usedAt: now, byFamily: new Map() };
    } else this.#senders.delete(key);
    this.#senders.set(key, sockets);
    sockets.usedAt = now;
    return sockets;
  }

  send(sockets: SenderSockets, bytes: Uint8Array, target: TeeTarget): void {
    const socket = this.#socketFor(sockets, target);
    if (socket.getSendQueueCount() >= maxQueued) {
      this.#dropped(target, "queue");
      return;
    }
    this.#pending++;
    socket.send(bytes, target.port, target.address, (error) => {
      this.#pending--;
      if (error === null) this.#sent(target);
      else this.#dropped(target, "send", error);
      if (this.#pending === 0) this.#idle();
    });
  }

  /** Closes those that were not used since a time. */
  closeIdle(before: number): void {
    for (const [key, sockets] of this.#senders) {
      if (sockets.usedAt >= before) break;
      this.#close(key, sockets);
    }
  }

  count(): number {
    return this.#senders.size;
  }

  /** Resolves when everything is sent, or after a second, and closes all. */
  async stop(): Promise<void> {
    if (this.#pending > 0) {
      let timer: NodeJS.Timeout | undefined;
      await new Promise<void>((resolve) => {
        this.#idle = resolve;
        timer = setTimeout(resolve, stopWithinMs);
      });
      clearTimeout(timer);
    }
    for (const [key, sockets] of this.#senders) this.#close(key, sockets);
  }

  #close(key: string, { byFamily }: SenderSockets): void {
    this.#senders.delete(key);
    for (const socket of byFamily.values()) socket.close();
  }

  #socketFor({ byFamily }: SenderSockets, target: TeeTarget): Socket {
    const type = target.address.includes(":") ? "udp6" : "udp4";
    let socket = byFamily.get(type);
    if (socket === undefined) {
      const family = type === "udp6" ? 6 : 4;
      // Targets are addresses: nothing is looked up, so that order is kept.
      socket = createSocket({ type, lookup: (host, _options, done) => done(null, host, family) });
      socket.on("error", (error) => this.#dropped(target, "send", error));
      byFamily.set(type, socket);
    }
    return socket;
  }
}

/** The sender of a datagram. */
interface RelaySender {
  /** Canonical text, IPv4-mapped addresses as IPv4. */
  readonly address: string;
  readonly port: number;
  /** The number of the socket that is used for this sender: another one gets all templates. */
  readonly generation: number;
  /** When it came, milliseconds of a monotonic clock. */
  readonly now: number;
}

/** Rewrites datagrams so that each names its sender. */
export class RelayRewriter {
  readonly #maxBytes: number;
  readonly #drop: CountDrop;
  readonly #scopes: RelayScopes;

  /** @param maxBytes the longest payload of a datagram. A single record that is longer goes out in a longer one. */
  constructor(maxBytes: number, drop: CountDrop, limits?: Partial<RelayLimits>) {
    this.#maxBytes = maxBytes;
    this.#drop = drop;
    this.#scopes = new RelayScopes({ ...defaultRelayLimits, ...limits }, () => drop("no_template"));
  }

  /**
   * The datagrams by which one is passed on, each naming its sender. sFlow names its agent and stays; NetFlow v1 and v7 stay, too, for they
   * have no field for a name. Whatever the bytes are, it does not throw.
   */
  rewrite(bytes: Buffer, { address, port, generation, now }: RelaySender): readonly Buffer[] {
    const scopes = this.#scopes;
    const protocol: Protocol = protocolOf(bytes);
    if (protocol === "unknown") {
      this.#drop("unknown_protocol");
      return [];
    }
    if (protocol === "sflow" || protocol === "netflow1" || protocol === "netflow7") return [bytes];
    const field = addressFieldOf(address);
    if (field === undefined) return [bytes];
    const common = { field, maxBytes: this.#maxBytes, generation, drop: this.#drop };
    if (protocol === "netflow5") {
      const domain = netflow5Domain(bytes);
      const scope = scopes.of(`5 ${address} ${domain}`, port, () => domain);
      return netflow5ToIpfix(bytes, { ...common, scope }, now);
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
  }

  /** Bytes of data sets that wait for their template. */
  heldBytes(): number {
    return this.#scopes.heldBytes;
  }
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

export interface TeeOptions extends Pick<Reporting, "log" | "metrics" | "clock"> {
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
}

/** The socket of a sender that is silent this long is closed, milliseconds. */
const idleMs = 30 * 60_000;
const tidyEveryMs = 60_000;

/** Receives flow datagrams by UDP and passes each on to every target, naming its sender. Its start fails with a FlowListenError. */
export class Tee implements Component {
  readonly name = "tee";
  readonly #options: TeeOptions;
  /** Limited in rate. */
  readonly #log: Log;
  readonly #counts: ReturnType<typeof createTeeCounts>;
  readonly #rewriter: RelayRewriter;
  readonly #senders: SenderSocketTable;
  /** The sender of the datagram that is passed on. */
  #from = "";
  #socket: Socket | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: TeeOptions) {
    const { targets, maxBytes, maxSenders, metrics, clock } = options;
    this.#options = options;
    this.#log = limitLog(options.log, clock);
    this.#counts = createTeeCounts(
      metrics,
      targets.map(({ name }) => name),
    );
    this.#rewriter = new RelayRewriter(maxBytes, (reason) => this.#drop(reason));
    this.#senders = new SenderSocketTable(
      maxSenders,
      ({ name }) => this.#counts.sent.add(1, { target: name }),
      ({ name }, reason, error) => {
        this.#counts.notSent.add(1, { target: name, reason });
        this.#log.error({ target: name, reason: error?.message ?? reason }, "a datagram could not be passed on");
      },
    );
    metrics.gaugeFrom("netgloss_tee_senders", "Senders that have a socket.", [], () => this.#senders.count());
    metrics.gaugeFrom("netgloss_tee_waiting_bytes", "Bytes of data sets that wait for their template.", [], () =>
      this.#rewriter.heldBytes(),
    );
  }

  async start(): Promise<void> {
    const { ip, port, receiveBufferBytes, targets, log, clock } = this.#options;
    const socket = await openSocket(ip, port);
    this.#socket = socket;
    socket.on("message", (bytes, sender) => this.#take(bytes, senderAddress(sender.address), sender.port));
    socket.on("error", (error) => this.#log.error({ error }, "error on the socket"));
    askReceiveBuffer(socket, receiveBufferBytes, log);
    const at = socket.address();
    log.info({ address: at.address, port: at.port, targets: targets.map(({ name }) => name) }, "passing flows on");
    this.#timer = setInterval(() => this.#senders.closeIdle(clock.monotonic() - idleMs), tidyEveryMs);
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    const socket = this.#socket;
    if (socket !== undefined) {
      this.#socket = undefined;
      const closed = once(socket, "close");
      socket.close();
      await closed;
    }
    await this.#senders.stop();
  }

  /** The port that is open; 0 before the start. */
  port(): number {
    return this.#socket?.address().port ?? 0;
  }

  #drop(reason: RelayDropReason): void {
    this.#counts.drops.add(1, { reason });
    this.#log.warn({ sender: this.#from, reason }, dropMessage[reason]);
  }

  #take(bytes: Buffer, address: string, port: number): void {
    const protocol = protocolOf(bytes);
    this.#counts.received.add(1, { protocol });
    this.#from = address;
    if (protocol === "unknown") {
      this.#drop("unknown_protocol");
      return;
    }
    const now = this.#options.clock.monotonic();
    const sockets = this.#senders.of(`${protocol} ${address} ${port}`, now);
    const { generation } = sockets;
    const datagrams = this.#rewriter.rewrite(bytes, { address, port, generation, now });
    if (protocol === "netflow1" || protocol === "netflow7") {
      this.#counts.nameless.add();
      this.#log.warn(
        { sender: address, protocol },
        "NetFlow v1 and v7 cannot name their sender: they seem to come from this host",
      );
    } else if (datagrams[0] !== bytes) this.#counts.changed.add();
    for (const datagram of datagrams)
      for (const target of this.#options.targets) this.#senders.send(sockets, datagram, target);
  }
}

/** @param targets their names. */
function createTeeCounts(metrics: Metrics, targets: readonly string[]) {
  return {
    received: metrics.counter("netgloss_tee_datagrams_total", "Datagrams received, by protocol.", {
      protocol: protocols,
    }),
    changed: metrics.counter("netgloss_tee_rewritten_total", "Datagrams that were rewritten to name their sender."),
    nameless: metrics.counter(
      "netgloss_tee_nameless_total",
      "Datagrams of NetFlow v1 and v7, which are passed on without the sender's address.",
    ),
    sent: metrics.counter("netgloss_tee_sent_total", "Datagrams sent, by target.", { target: targets }),
    notSent: metrics.counter("netgloss_tee_send_drops_total", "Datagrams that a target did not get, by reason.", {
      target: targets,
      reason: ["queue", "send"],
    }),
    drops: metrics.counter(
      "netgloss_tee_drops_total",
      "Datagrams, sets, templates and records that were not passed on, by reason.",
      { reason: relayDropReasons },
    ),
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
