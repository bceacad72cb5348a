import type { Address } from "../../../base/ip/index.ts";

/** What is known of an address, rendered below an object: its fields, each with a comma before it. */
export interface RenderedFacts {
  readonly from: DataView;
  readonly start: number;
  readonly fieldsEnd: number;
  /** The number of the autonomous system follows the other fields, because exporters report it, too; then its organisation. */
  readonly numberEnd: number;
  readonly end: number;
  /** That number; 0 for none. */
  readonly system: number;
}

/** Renders facts when they are written, which for addresses that share a text is once. */
export interface FactRenderer {
  /**
   * Where facts follow from their number: a number that no other renderer of the source ever has. Addresses with the same facts may
   * then share a text. Undefined where each address is one of its own.
   */
  readonly generation: number | undefined;
  /**
   * @param fact what was added together with the renderer.
   * @param position of the object in `enrichedObjects`.
   * @returns what may be read until the next call.
   */
  render(fact: number, position: number): RenderedFacts;
}

/** Takes what sources know of an address. */
export interface FoundFacts {
  /** No field of these facts is given by a decoder, nor by another source. */
  add(renderer: FactRenderer, fact: number): void;
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
  find(a: number, b: number, c: number, d: number, found: FoundFacts): number;
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
