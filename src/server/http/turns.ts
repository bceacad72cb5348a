import type { Clock } from "../../base/report/index.ts";

/** How long requests may be begun before all else of the event loop gets its turn, milliseconds. */
const turnMs = 5;

type Work = () => void;

/**
 * Shares the event loop among requests, and between them and all else. Work waits until what came along with it has been read: then a
 * request that was cancelled at once is known to be. Each client gets its turn, and each connection of a client, however much another
 * has asked for.
 */
export class Turns {
  readonly #clock: Pick<Clock, "monotonic">;
  /** By client, then by connection. What comes first is next. */
  readonly #clients = new Map<string, Map<object, Work[]>>();
  #isRunning = false;
  /** Whether the turn of the event loop is over. */
  #isOver = false;

  constructor(clock: Pick<Clock, "monotonic">) {
    this.#clock = clock;
  }

  /** Resolves when it is the turn of this connection; nothing else is worked on in the same turn of the event loop. */
  next(client: string, connection: object): Promise<void> {
    return new Promise((resolve) => {
      this.add(client, connection, () => {
        this.#isOver = true;
        resolve();
      });
    });
  }

  /** Work must not throw. */
  add(client: string, connection: object, work: Work): void {
    let connections = this.#clients.get(client);
    if (connections === undefined) this.#clients.set(client, (connections = new Map<object, Work[]>()));
    const waiting = connections.get(connection);
    if (waiting === undefined) connections.set(connection, [work]);
    else waiting.push(work);
    if (this.#isRunning) return;
    this.#isRunning = true;
    setImmediate(() => this.#run());
  }

  #run(): void {
    const end = this.#clock.monotonic() + turnMs;
    this.#isOver = false;
    do this.#take()();
    while (this.#clients.size > 0 && !this.#isOver && this.#clock.monotonic() < end);
    if (this.#clients.size > 0) setImmediate(() => this.#run());
    else this.#isRunning = false;
  }

  #take(): Work {
    const [client, connections] = firstOf(this.#clients);
    const [connection, waiting] = firstOf(connections);
    const work = waiting.shift() as Work;
    connections.delete(connection);
    if (waiting.length > 0) connections.set(connection, waiting);
    this.#clients.delete(client);
    if (connections.size > 0) this.#clients.set(client, connections);
    return work;
  }
}

function firstOf<K, V>(map: ReadonlyMap<K, V>): readonly [K, V] {
  return map.entries().next().value as [K, V];
}
