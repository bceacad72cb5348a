import type { FactRenderer, FoundFacts, RenderedFacts } from "../sources/address-source.ts";
import type { TextKey } from "./text-key.ts";

/** What all sources know of the address under way. The same list is filled again for each address. */
export interface FactList extends FoundFacts {
  readonly count: number;
  /** Begins with the facts of another address. */
  clear(): void;
  /** What is added from now on is of the source with this number. */
  setSource(source: number): void;
  render(i: number, position: number): RenderedFacts;
  /** Adds three numbers for each of the facts: the same numbers mean the same facts. @returns false where one is of one address only. */
  putKey(key: TextKey): boolean;
}

export function createFactList(): FactList {
  const renderers: FactRenderer[] = [];
  const facts: number[] = [];
  const sources: number[] = [];
  let source = 0;
  const list = {
    count: 0,
    clear() {
      list.count = 0;
    },
    setSource(number: number) {
      source = number;
    },
    add(renderer: FactRenderer, fact: number) {
      const i = list.count++;
      renderers[i] = renderer;
      facts[i] = fact;
      sources[i] = source;
    },
    render: (i: number, position: number) => (renderers[i] as FactRenderer).render(facts[i] as number, position),
    putKey(key: TextKey) {
      for (let i = 0; i < list.count; i++) {
        const { generation } = renderers[i] as FactRenderer;
        if (generation === undefined) return false;
        key.put(sources[i] as number);
        key.put(generation);
        key.put(facts[i] as number);
      }
      return true;
    },
  };
  return list;
}
