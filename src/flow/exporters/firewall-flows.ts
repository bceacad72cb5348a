import { memoryCosts, type MemoryShare } from "./limits/memory.ts";

/** What is remembered of one domain. Flows of which the end does not come give way to younger ones. */
const maxFlows = 131_072;

/** What firewalls reported of flows before these end: for those that report a flow while it lasts and, at its end, all of it once more. */
export class FirewallFlows {
  readonly #reported = new Map<string, Float64Array>();
  readonly #memory: MemoryShare;
  readonly #onEvict: () => void;

  /** @param onEvict is called when a flow gives way. */
  constructor(memory: MemoryShare, onEvict: () => void) {
    this.#memory = memory;
    this.#onEvict = onEvict;
  }

  /** Adds what was reported since the last time. @param counts by the fields of {@link FirewallPlan.counters}. */
  add(key: string, counts: readonly number[]): void {
    const known = this.#reported.get(key);
    if (known !== undefined) this.#reported.delete(key);
    else this.#makeRoom();
    const sums = known ?? new Float64Array(counts.length);
    counts.forEach((count, i) => (sums[i] = (sums[i] as number) + count));
    // The order of insertion is the order of use.
    this.#reported.set(key, sums);
  }

  /** Forgets a flow that ends or begins. @returns what was reported of it; undefined: nothing. */
  take(key: string): ArrayLike<number> | undefined {
    const sums = this.#reported.get(key);
    if (sums !== undefined) this.#remove(key);
    return sums;
  }

  clear(): void {
    this.#memory.add(-this.#reported.size * memoryCosts.firewallFlow);
    this.#reported.clear();
  }

  #makeRoom(): void {
    this.#memory.add(memoryCosts.firewallFlow);
    if (this.#reported.size < maxFlows) return;
    for (const oldest of this.#reported.keys()) {
      this.#remove(oldest);
      break;
    }
    this.#onEvict();
  }

  #remove(key: string): void {
    this.#reported.delete(key);
    this.#memory.add(-memoryCosts.firewallFlow);
  }
}
