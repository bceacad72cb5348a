import { useState } from "preact/hooks";
import { ApiFailure } from "../api/api-failure.ts";

/** Something that a person sets off, and what happened to it. */
export interface Action {
  readonly failure: ApiFailure | undefined;
  readonly isBusy: boolean;
  /** Runs it. @returns whether it went well; a failure is shown and kept until the next run. */
  run(work: () => Promise<void>): Promise<boolean>;
  forget(): void;
}

export function useAction(): Action {
  const [failure, setFailure] = useState<ApiFailure | undefined>(undefined);
  const [isBusy, setBusy] = useState(false);
  return {
    failure,
    isBusy,
    async run(work) {
      setBusy(true);
      setFailure(undefined);
      try {
        await work();
        return true;
      } catch (error) {
        setFailure(error instanceof ApiFailure ? error : new ApiFailure("refused", String(error)));
        return false;
      } finally {
        setBusy(false);
      }
    },
    forget: () => setFailure(undefined),
  };
}
