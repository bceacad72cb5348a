import type { AddressRange, UdmIndex } from "../model/udm-index.ts";
import type { IndexLoan, IndexReturn } from "./lent-builder.ts";
import type { LayerPlaces } from "./layer-places.ts";
import type { SharedIndexHandle } from "./shared-reader.ts";

/** A layer that readers are to see. */
export interface PublishedLayer {
  readonly index: UdmIndex;
  /** They have all keys of the state; undefined: it is always searched. */
  readonly places?: LayerPlaces | undefined;
}

export interface SharedIndexOptions {
  /** Most entries of one state. Memory is reserved for this many, which costs address space until it is used. */
  readonly maxEntries: number;
  /** What a message about a limit says of how to raise it. */
  readonly limitName?: string;
  /** Most readers at a time. */
  readonly maxReaders?: number;
  /** Called when the system gives less memory than was asked for. */
  readonly onSmallerReserve?: (bytes: number, askedFor: number) => void;
}

/**
 * An index in shared memory. The thread that made it makes all changes; others read what it publishes.
 *
 * Each state that it gives out as a {@link UdmIndex} keeps its memory until the object is garbage, or was released. A
 * state of which no object, no reader and no publication is left gives back what no other state shares.
 */
export interface SharedIndex {
  /** The state of no entries, version 0. */
  empty(): UdmIndex;
  /**
   * Lends the memory that is free to a thread that builds a state ({@link createLentBuilder}). Until it is taken back,
   * no state can be made or changed here.
   *
   * @param before the state that the new one follows; it must be held until then.
   */
  lend(before?: UdmIndex): IndexLoan;
  /** Takes the memory back from a thread that does not use it any more, with what it has built. */
  adopt(loan: IndexLoan, built: IndexReturn): UdmIndex;
  /** The same when nothing of it is wanted. */
  takeBack(loan: IndexLoan): void;
  /**
   * Makes a state the one that readers see, all of it at once.
   *
   * @returns where it may differ from the one that was published before; undefined: anywhere.
   */
  publish(index: UdmIndex): readonly AddressRange[] | undefined;
  /**
   * Makes these states the other layers that readers see, in their order behind the published one, all at once. They must be held
   * for as long as they are layers.
   *
   * @param changed where what readers see may differ from before; undefined: anywhere.
   */
  publishLayers(layers: readonly PublishedLayer[], changed: readonly AddressRange[] | undefined): void;
  /** Places for a further layer: they let look-ups pass over it. Undefined when there are too many, which are always searched. */
  layerPlaces(): LayerPlaces | undefined;
  /** Gives a state up at once whose object nobody uses any more. */
  release(index: UdmIndex): void;
  /** What a reader in another thread needs; each reader needs its own. @throws Error when there are too many readers. */
  handle(): SharedIndexHandle;
  /** Gives a reader's place back; to be called when a thread has ended without closing its reader. */
  closeReader(handle: SharedIndexHandle): void;
  stats(): SharedIndexStats;
}

/** Bytes, and numbers of states. */
export interface SharedIndexStats {
  readonly reserved: number;
  readonly tree: number;
  readonly entries: number;
  /** What was in use once and waits to be used again. */
  readonly free: number;
  /** States that objects of this thread keep. */
  readonly heldSnapshots: number;
  /** Readers that are in the middle of a look-up. */
  readonly activeReaders: number;
}
