import type { ListTasksAnswer } from "../../api/answers.gen.ts";
import { useIsLimited } from "../../api/session.ts";
import { useCall } from "../../api/use-call.ts";

export interface Progress {
  readonly step: string;
  /** 0 to 1; undefined: nobody knows. */
  readonly share: number | undefined;
}

/** How far the collector is with the newest task of a kind, while `isOn`. */
export function useProgress(kind: string, isOn: boolean): Progress | undefined {
  const isLimited = useIsLimited();
  const tasks = useCall<ListTasksAnswer>(isOn && !isLimited ? { path: "api/v1/progress" } : undefined, {
    everyMs: 400,
  });
  const task = tasks.answer?.tasks.findLast((one) => one.kind === kind);
  if (task === undefined) return undefined;
  const { step, done, total } = task;
  return { step, share: total === undefined || total === 0 ? undefined : Math.min(1, done / total) };
}
