import { once } from "node:events";
import type { Socket } from "node:dgram";
import { limitLog, type Clock, type Component, type Log, type Metrics } from "../../report/index.ts";
import { openSocket } from "../intake/net/open-socket.ts";
import { askReceiveBuffer } from "../intake/net/receive-buffer.ts";
import { senderAddress } from "../intake/net/sender-address.ts";
import { protocolOf, protocols } from "../protocol.ts";
import { relayDropReasons, type RelayDropReason } from "./relay-counts.ts";
import { createRelayRewriter } from "./relay-rewriter.ts";
import { createSenderSockets, type TeeTarget } from "./sender-sockets.ts";

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
