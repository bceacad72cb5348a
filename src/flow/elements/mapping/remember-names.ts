import { elementKey } from "../registry/registry.ts";
import type { ElementNames, ElementSource } from "./element-names.ts";

/** Elements come from the network, so the number of those that are remembered is limited. */
const maxRemembered = 16_384;

/** A source that gives the same object for an element again: plans share it, which is most of what they take. */
export function rememberNames(source: ElementSource): ElementSource {
  const known = new Map<number, ElementNames>();
  return {
    names(pen, id) {
      const key = elementKey(pen, id);
      let names = known.get(key);
      if (names === undefined) {
        names = source.names(pen, id);
        if (known.size >= maxRemembered) known.clear();
        known.set(key, names);
      }
      return names;
    },
    type: (pen, id) => source.type(pen, id),
  };
}
