import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";

/** A helper of a bench in a process of its own, asked and answering by messages. */
export interface Helper {
  readonly pid: number;
  /** Sends a message and waits for the next one back. */
  ask<T>(message: unknown): Promise<T>;
  end(): Promise<void>;
}

/** @param script path below `bench/`, as built. */
export function startHelper(script: string, args: readonly string[] = []): Helper {
  const child: ChildProcess = fork(join(import.meta.dirname, "..", script), args, { serialization: "advanced" });
  const failed = once(child, "exit").then(([code]) => {
    throw new Error(`${script} ended with ${String(code)}`);
  });
  failed.catch(() => {});
  return {
    pid: child.pid ?? 0,
    async ask<T>(message: unknown) {
      const answer = once(child, "message");
      child.send(message as object);
      const [given] = (await Promise.race([answer, failed])) as [T];
      return given;
    },
    async end() {
      child.disconnect();
      await once(child, "exit");
    },
  };
}
