import { setTimeout as pause } from "node:timers/promises";
import { apiError, type CollectorAnswer, type StreamPage } from "../../server/index.ts";
import type { Progress } from "../../base/report/index.ts";

const maxFollowers = 64;
/** How often those who follow are sent what has changed, and something at all, milliseconds. */
const sendMs = 250;
const aliveMs = 5_000;

/** What `GET /api/v1/progress` answers. */
export function tasksView(progress: Progress): CollectorAnswer<"listTasks"> {
  return { tasks: progress.tasks() };
}

/** `GET /api/v1/progress/events`: the tasks whenever they have changed, one JSON object a line. */
export function progressEvents(progress: Progress): StreamPage {
  let followers = 0;
  return {
    summary: "What is under way, whenever that has changed: one JSON object a line",
    parameters: {},
    open(_query, signal) {
      if (followers >= maxFollowers) {
        const message = `no more than ${maxFollowers} clients may follow the progress`;
        throw apiError("resource_exhausted", "TOO_MANY_WATCHERS", message);
      }
      return lines(progress, signal, (by) => void (followers += by));
    },
  };
}

async function* lines(
  progress: Progress,
  signal: AbortSignal,
  count: (by: number) => void,
): AsyncGenerator<Uint8Array> {
  count(1);
  let last = "";
  let silentFor = 0;
  try {
    while (!signal.aborted) {
      const now = JSON.stringify({ tasks: progress.tasks() });
      silentFor += sendMs;
      if (now !== last || silentFor >= aliveMs) {
        // An empty line finds out whether anybody is still there.
        yield Buffer.from(now === last ? "\n" : `${now}\n`);
        last = now;
        silentFor = 0;
      }
      await pause(sendMs, undefined, { signal }).catch(() => {});
    }
  } finally {
    count(-1);
  }
}
