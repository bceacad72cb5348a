/** A piece of an IP packet. */
export interface Fragment {
  /** The same for all pieces of a packet. */
  readonly of: string;
  /** In bytes. */
  readonly offset: number;
  readonly isLast: boolean;
}

export interface Reassembly {
  /** @returns the whole payload when this piece was the missing one. */
  add(fragment: Fragment, payload: Buffer): Buffer | undefined;
  /** How many packets lack a piece, those that were given up included. */
  waiting(): number;
}

interface Pieces {
  readonly at: Map<number, Buffer>;
  length: number | undefined;
}

/** Packets that may wait at a time; the oldest is given up for a further one. */
const maxWaiting = 1024;

/** Puts fragments together, in whatever order they come. Pieces that overlap others leave a packet incomplete. */
export function createReassembly(): Reassembly {
  const packets = new Map<string, Pieces>();
  let givenUp = 0;
  return {
    add({ of, offset, isLast }, payload) {
      const pieces = packets.get(of) ?? { at: new Map<number, Buffer>(), length: undefined };
      pieces.at.set(offset, payload);
      if (isLast) pieces.length = offset + payload.length;
      packets.set(of, pieces);
      if (packets.size > maxWaiting) {
        const [oldest] = packets.keys();
        if (oldest !== undefined) packets.delete(oldest);
        givenUp++;
      }
      const whole = join(pieces);
      if (whole !== undefined) packets.delete(of);
      return whole;
    },
    waiting: () => packets.size + givenUp,
  };
}

function join({ at, length }: Pieces): Buffer | undefined {
  if (length === undefined) return undefined;
  const parts: Buffer[] = [];
  let end = 0;
  for (let part = at.get(0); part !== undefined && part.length > 0; part = at.get(end)) {
    parts.push(part);
    end += part.length;
    if (end >= length) return end === length ? Buffer.concat(parts) : undefined;
  }
  return undefined;
}
