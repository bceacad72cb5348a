import type { Address } from "../../ip/index.ts";
import type { Value } from "../../record/index.ts";

/** A name below the object that has the address, with a dot before it (`.geo.country.code`), and its value. */
export type Fact = readonly [suffix: string, value: Value];

export interface AutonomousSystem {
  readonly number: number;
  readonly organisation: string | undefined;
}

/** What one source knows of an address. */
export interface AddressFacts {
  /** None of these names is given by a decoder, nor by another source. */
  readonly fields: readonly Fact[];
  /** Apart from the fields, because exporters report it, too. */
  readonly as?: AutonomousSystem | undefined;
  /** Present when the same object stands for many addresses, so that their texts may be one. */
  readonly shared?: SharedFacts | undefined;
}

/** Of facts that many addresses share. */
export interface SharedFacts {
  /** No other facts of the source ever have it. */
  readonly number: number;
  /** For those who render them: their bytes, by the position of the object. Empty at first. */
  readonly rendered: (RenderedFacts | undefined)[];
}

/** The fields of facts as bytes. */
export interface RenderedFacts {
  readonly fields: Uint8Array;
  readonly number: Uint8Array;
  readonly organisation: Uint8Array;
}

/** Something that knows addresses. It answers at once with what it knows, and reports when it would answer differently. */
export interface AddressSource {
  /** The objects whose addresses it is asked about: `flow.src`, … */
  readonly objects: ReadonlySet<string>;
  /**
   * Adds what it knows of an address of four words, IPv4 in its mapped form.
   *
   * @returns for how many milliseconds that holds; infinite: until it reports a change.
   */
  find(a: number, b: number, c: number, d: number, found: AddressFacts[]): number;
  /** @param changed gets the address of which something else is known now; undefined for all addresses. */
  watch(changed: (address: Address | undefined) => void): () => void;
}

/** The two ends of a flow. */
export const endpointObjects: ReadonlySet<string> = new Set(["flow.src", "flow.dst"]);

/** Listeners of a source. */
export interface Listeners {
  readonly add: AddressSource["watch"];
  readonly report: (address: Address | undefined) => void;
}

export function createListeners(): Listeners {
  const listeners = new Set<(address: Address | undefined) => void>();
  return {
    add(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    report(address) {
      for (const listener of listeners) listener(address);
    },
  };
}
