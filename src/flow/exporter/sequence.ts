/** Where the sequence numbers of one observation domain stand. */
export interface Sequence {
  /** What the next datagram should say; undefined before the first, and when it cannot be told. */
  next: number | undefined;
  /** Units that never came, in the protocol's own: flows (NetFlow v5), datagrams (v9), data records (IPFIX). */
  missing: number;
  late: number;
  resets: number;
}

export interface SequenceStep {
  /** Units found missing; negative when a datagram that was counted as missing came late. */
  readonly missing: number;
  readonly event: "late" | "reset" | undefined;
}

/** A number that jumps ahead by more is no gap but another count. */
const maxGap = 0x1000_0000;
/** A number that lies back by less is a datagram overtaken on its way. */
const maxLate = 4096;

const inOrder: SequenceStep = { missing: 0, event: undefined };

export function createSequence(): Sequence {
  return { next: undefined, missing: 0, late: 0, resets: 0 };
}

/**
 * Accounts for one datagram. Numbers are modulo 2^32. An exporter that started again (told by its uptime, or by a number
 * far from the expected one) begins a new count, with nothing missing.
 *
 * @param number the datagram's sequence number: the count of units before it.
 * @param units how many it holds; undefined when that is not known, then the next datagram is taken as it comes.
 * @param hasRestarted whether the exporter is known to have started again since the last datagram.
 */
export function accountSequence(
  sequence: Sequence,
  number: number,
  units: number | undefined,
  hasRestarted: boolean,
): SequenceStep {
  const { next } = sequence;
  const after = units === undefined ? undefined : (number + units) >>> 0;
  if (next === undefined || number === next) {
    sequence.next = after;
    return inOrder;
  }
  const distance = (number - next) | 0;
  if (hasRestarted || distance > maxGap || distance < -maxLate) {
    sequence.next = after;
    sequence.resets++;
    return { missing: 0, event: "reset" };
  }
  if (distance > 0) {
    sequence.next = after;
    sequence.missing += distance;
    return { missing: distance, event: undefined };
  }
  sequence.late++;
  const found = Math.min(units ?? 0, sequence.missing);
  sequence.missing -= found;
  return { missing: -found, event: "late" };
}
