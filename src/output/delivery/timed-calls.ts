import { DeliveryError } from "./delivery-error.ts";
import { connectionFailure } from "./failure-text.ts";

/** Calls of an adapter, each within its time. */
export interface TimedCalls {
  /**
   * Makes a call; it ends with its time, or with {@link TimedCalls.stop}, whether the adapter heeds the signal or not.
   *
   * @throws DeliveryError
   */
  call<T>(action: (signal: AbortSignal) => Promise<T>): Promise<T>;
  /** Cuts off the calls under way, and all later ones. */
  stop(): void;
  readonly isStopped: boolean;
}

export function createTimedCalls(timeoutMs: number): TimedCalls {
  const underWay = new Set<AbortController>();
  let isStopped = false;
  const stopped = (): DeliveryError => new DeliveryError("store", "stopped", "the output stops");

  return {
    call: (action) =>
      new Promise((resolve, reject) => {
        if (isStopped) {
          reject(stopped());
          return;
        }
        const controller = new AbortController();
        const { signal } = controller;
        underWay.add(controller);
        const late = (): void =>
          controller.abort(new DeliveryError("store", "timeout", `no answer within ${timeoutMs / 1000} s`));
        const timer = setTimeout(late, timeoutMs);
        const failed = (error: unknown): void => {
          reject(connectionFailure(signal.aborted ? signal.reason : error, "the store"));
        };
        // An adapter that does not heed the signal must not hold the batch for ever.
        signal.addEventListener("abort", failed);
        const end = (): void => {
          clearTimeout(timer);
          underWay.delete(controller);
          signal.removeEventListener("abort", failed);
        };
        action(signal).then(resolve, failed).finally(end);
      }),
    stop() {
      isStopped = true;
      for (const controller of underWay) controller.abort(stopped());
    },
    get isStopped() {
      return isStopped;
    },
  };
}
