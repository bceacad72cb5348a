import type { Log } from "./log.ts";

/**
 * A part of the collector with a life of its own. Its constructor is inert: nothing is opened before `start`, and
 * after `stop` nothing is open. `stop` finishes what runs and may be called on a component that never started.
 */
export interface Component {
  readonly name: string;
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** When a start that goes on is first spoken of, and how often after that, milliseconds. */
const slowStartMs = 1000;

/**
 * Starts in order. When one fails, those already started are stopped in reverse and the failure is thrown. What takes more than a second
 * is logged while it does.
 */
export async function startComponents(components: readonly Component[], log: Log): Promise<void> {
  for (const [i, component] of components.entries()) {
    let seconds = 0;
    const slow = setInterval(() => {
      seconds += slowStartMs / 1000;
      log.info({ part: component.name, seconds }, "still starting");
    }, slowStartMs);
    try {
      await component.start();
    } catch (error) {
      await stopComponents(components.slice(0, i), log);
      throw error;
    } finally {
      clearInterval(slow);
    }
  }
}

/** Stops in reverse order. A failure to stop is logged and does not keep the others from stopping. */
export async function stopComponents(components: readonly Component[], log: Log): Promise<void> {
  for (const component of components.toReversed()) {
    try {
      await component.stop();
    } catch (error) {
      log.error({ component: component.name, error }, "component did not stop cleanly");
    }
  }
}
