import { lineObjects, type AddressAdditions } from "../../record/index.ts";
import type { PacketHeader } from "../packet/packet-header.ts";

/** Addresses of several packets, one behind the other, so that what they add is looked for together. */
export interface GatheredAddresses {
  /** Takes the addresses of a packet, if it has any; of at most so many packets as were named. */
  add(from: DataView, packet: PacketHeader): void;
  /** Brings near what they add, and begins anew. */
  touch(additions: readonly AddressAdditions[]): void;
}

interface Row {
  readonly object: number;
  readonly length: 4 | 16;
  readonly view: DataView;
  count: number;
}

export function createGatheredAddresses(packets: number): GatheredAddresses {
  const row = (object: number, length: 4 | 16): Row => ({
    object,
    length,
    view: new DataView(new ArrayBuffer(packets * length)),
    count: 0,
  });
  const sources4 = row(lineObjects.src, 4);
  const destinations4 = row(lineObjects.dst, 4);
  const sources6 = row(lineObjects.src, 16);
  const destinations6 = row(lineObjects.dst, 16);
  const rows = [sources4, destinations4, sources6, destinations6];

  return {
    add(from, { ipVersion, source, destination }) {
      if (ipVersion === 4) {
        append(sources4, from, source);
        append(destinations4, from, destination);
      } else if (ipVersion === 6) {
        append(sources6, from, source);
        append(destinations6, from, destination);
      }
    },
    touch(additions) {
      for (let i = 0; i < rows.length; i++) {
        const { object, length, view, count } = rows[i] as Row;
        (rows[i] as Row).count = 0;
        // One alone is fetched just as fast when it is asked for.
        if (count < 2) continue;
        for (let j = 0; j < additions.length; j++) additions[j]?.touch?.(object, view, 0, length, length, count);
      }
    },
  };
}

function append(row: Row, from: DataView, at: number): void {
  const { view, length } = row;
  const to = row.count++ * length;
  for (let i = 0; i < length; i += 4) view.setInt32(to + i, from.getInt32(at + i));
}
