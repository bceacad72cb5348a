/** A port from which an exporter sends. Times in milliseconds since the epoch. */
export interface Sender {
  readonly port: number;
  readonly firstSeen: number;
  lastSeen: number;
  /** When the exporter started, by its export time and uptime; undefined where the protocol does not say. */
  bootTime: number | undefined;
}

/** The ports that the datagrams of one domain came from: the few used last. */
export interface Senders {
  note(port: number, at: number, bootTime: number | undefined): void;
  /** The one that sent last. */
  latest(): Readonly<Sender> | undefined;
  all(): readonly Readonly<Sender>[];
}

/** Two suffice to distinguish several devices behind one address from one that started again; more are for people. */
const maxSenders = 8;

export function createSenders(): Senders {
  const senders: Sender[] = [];
  let last: Sender | undefined;

  const place = (port: number, at: number, bootTime: number | undefined): Sender => {
    const known = senders.find((sender) => sender.port === port);
    if (known !== undefined) return known;
    if (senders.length >= maxSenders) {
      const oldest = senders.reduce((a, b) => (b.lastSeen < a.lastSeen ? b : a));
      senders.splice(senders.indexOf(oldest), 1);
    }
    const sender = { port, firstSeen: at, lastSeen: at, bootTime };
    senders.push(sender);
    return sender;
  };

  return {
    note(port, at, bootTime) {
      if (last?.port !== port) last = place(port, at, bootTime);
      last.lastSeen = at;
      last.bootTime = bootTime;
    },
    latest: () => last,
    all: () => senders,
  };
}
