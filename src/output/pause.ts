/** A place where one caller waits until `end` is called, or for a time at most. */
export interface Pause {
  pause(ms?: number): Promise<void>;
  /** Ends the pause under way, if there is one. */
  end(): void;
}

export function createPause(): Pause {
  let end = (): void => {};
  return {
    pause: (ms) =>
      new Promise((resolve) => {
        const timer = ms === undefined ? undefined : setTimeout(() => end(), ms);
        end = () => {
          clearTimeout(timer);
          end = () => {};
          resolve();
        };
      }),
    end: () => end(),
  };
}
