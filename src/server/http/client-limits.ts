import type { Clock } from "../../base/report/index.ts";
import type { ApiLimits } from "./limits.ts";

/** Control frames are counted over so many milliseconds. */
export const floodWindow = 10_000;

interface ClientUse {
  /** Requests under way. */
  requests: number;
  windowStart: number;
  controlFrames: number;
}

/** What each client takes, by all of its connections together: more connections are no way around a bound. */
export class ClientLimits {
  readonly #limits: Pick<ApiLimits, "maxClientRequests" | "maxClientControlFrames">;
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #clients = new Map<string, ClientUse>();

  constructor(
    limits: Pick<ApiLimits, "maxClientRequests" | "maxClientControlFrames">,
    clock: Pick<Clock, "monotonic">,
  ) {
    this.#limits = limits;
    this.#clock = clock;
  }

  /** Counts a request that has come. @returns whether the client has no more of them under way than it may. */
  begin(client: string): boolean {
    return ++this.#useOf(client).requests <= this.#limits.maxClientRequests;
  }

  end(client: string): void {
    this.#useOf(client).requests--;
  }

  /** Counts a control frame, or a request that was cancelled. @returns whether the client has sent no more than it may. */
  control(client: string): boolean {
    const use = this.#useOf(client);
    const now = this.#clock.monotonic();
    if (now - use.windowStart > floodWindow) {
      use.windowStart = now;
      use.controlFrames = 0;
    }
    return ++use.controlFrames <= this.#limits.maxClientControlFrames;
  }

  /** Forgets who has nothing under way. To be called every now and then. */
  sweep(): void {
    const now = this.#clock.monotonic();
    for (const [client, use] of this.#clients) {
      if (use.requests === 0 && now - use.windowStart > floodWindow) this.#clients.delete(client);
    }
  }

  #useOf(client: string): ClientUse {
    let use = this.#clients.get(client);
    if (use === undefined) {
      use = { requests: 0, windowStart: this.#clock.monotonic(), controlFrames: 0 };
      this.#clients.set(client, use);
    }
    return use;
  }
}
