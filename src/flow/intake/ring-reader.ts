import {
  addressMark,
  control,
  entryHeader,
  entrySize,
  marks,
  notesFrom,
  senderBits,
  type RingHandle,
  type SenderStanding,
} from "./ring-writer.ts";

/** Takes a datagram; its bytes are valid during the call only. */
export type TakeDatagram = (bytes: Buffer, address: string, port: number, receivedAt: number) => void;

/** The one side of a ring that takes datagrams out. */
export interface RingReader {
  /**
   * Hands over the next datagrams in the order in which they were written, `limit` at most, and none after `maxBytes`.
   *
   * @returns how many were taken out; 0 when the ring is empty.
   */
  read(take: TakeDatagram, limit: number, maxBytes?: number): number;
  /**
   * Says that the reader is going to sleep. @returns false when something has come meanwhile: it must read on. Otherwise
   * the writer wakes it at the next write.
   */
  sleep(): boolean;
  /** Datagrams taken out and not handed over, because only a reader before this one knew whose they were. */
  readonly lost: number;
}

/** What the writer learns of senders while the ring is filling up. */
export interface AboutSenders {
  readonly standing: (address: string) => SenderStanding;
  /** Milliseconds. */
  readonly monotonic: () => number;
}

/** Of the time that a sender's datagrams take, this part is that of the latest one. */
const latestPart = 1 / 16;
/** The time of a good sender counts only in part: records come of it. */
const goodPart = 1 / 8;
/** A datagram counts as no more than this many usual ones: what takes so long is as a rule the garbage collector. */
const maxTimes = 8;

/** The longest datagram that UDP can carry, as a ring of 64 KiB could hold it. */
const maxDatagram = 65_536;

/** @param about left out: all senders are alike. */
export function createRingReader(ring: RingHandle, about?: AboutSenders): RingReader {
  const words = new Int32Array(ring.control);
  const bytesOf = new Uint8Array(ring.data);
  const uints = new Uint32Array(ring.data);
  const doubles = new Float64Array(ring.data);
  const senders = new Uint32Array(ring.senders);
  const mask = bytesOf.length - 1;
  const addresses: string[] = [];
  let lost = 0;
  // A reader before this one may have received addresses.
  Atomics.store(words, control.forget, 1);
  // A copy of its own: decoders and libraries behind them need not know of shared memory.
  const scratch = Buffer.allocUnsafeSlow(Math.min(bytesOf.length, maxDatagram));

  const average = (before: number, ns: number): number =>
    before === 0 ? ns : Math.ceil(before + (ns - before) * latestPart);
  /** Says how long a datagram took. */
  const note = (exporter: number, ms: number, standing: SenderStanding): void => {
    const ofAll = Atomics.load(words, control.meanTime);
    const own = (senders[exporter] as number) & senderBits.time;
    const most = ofAll === 0 ? senderBits.time : Math.min(maxTimes * Math.max(own, ofAll), senderBits.time);
    const isGood = standing !== "unknown";
    const ns = Math.min(Math.ceil(ms * (isGood ? 1e6 * goodPart : 1e6)), most);
    senders[exporter] = average(own, ns) | (standing === "unknown" ? 0 : senderBits[standing]);
    Atomics.store(words, control.meanTime, average(ofAll, ns));
  };

  return {
    read(take, limit, maxBytes = Number.POSITIVE_INFINITY) {
      let count = 0;
      let taken = 0;
      while (count < limit && taken < maxBytes) {
        const read = Atomics.load(words, control.read);
        const written = Atomics.load(words, control.written);
        if (read === written) break;
        const at = (read >>> 0) & mask;
        const length = uints[at >>> 2] as number;
        if (length === marks.wrap) {
          Atomics.store(words, control.read, (read + bytesOf.length - at) | 0);
          continue;
        }
        const exporter = uints[(at >>> 2) + 1] as number;
        const port = uints[(at >>> 2) + 2] as number;
        const receivedAt = doubles[(at + 16) >>> 3] as number;
        const bytes = scratch.subarray(0, length);
        bytes.set(bytesOf.subarray(at + entryHeader, at + entryHeader + length));
        // Before it is handed over: should the taker die of it, the next reader of the ring does not meet it again.
        Atomics.store(words, control.read, (read + entrySize(length)) | 0);
        if (port === addressMark) addresses[exporter] = bytes.toString("latin1");
        else {
          count++;
          taken += length;
          const address = addresses[exporter];
          if (address === undefined) lost++;
          else if (about === undefined || (written - read) >>> 0 < bytesOf.length * notesFrom) {
            take(bytes, address, port, receivedAt);
          } else {
            const began = about.monotonic();
            take(bytes, address, port, receivedAt);
            note(exporter, about.monotonic() - began, about.standing(address));
          }
        }
      }
      return count;
    },
    sleep() {
      Atomics.store(words, control.asleep, 1);
      if (Atomics.load(words, control.read) === Atomics.load(words, control.written)) return true;
      Atomics.store(words, control.asleep, 0);
      return false;
    },
    get lost() {
      return lost;
    },
  };
}
