/** Thrown by the fast reader at what it does not know for certain, faults included: the library reads the text then. */
export class UnsupportedYaml extends Error {}

export function unsupported(): never {
  throw new UnsupportedYaml();
}
