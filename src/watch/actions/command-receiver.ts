import { spawn } from "node:child_process";
import { isAbsolute } from "node:path";
import { defaulted, list, mapping, required, scalar } from "../../base/yaml/index.ts";
import type { Notice } from "../alerts.ts";
import type { Receiver } from "./receiver.ts";

const argument = scalar("a text of up to 1000 characters", (text) =>
  text.length <= 1000 && !text.includes("\0") ? text : undefined,
);
const timeout = scalar("a time from 1s to 300s", (text) => {
  const [, digits] = /^(\d{1,3})s$/.exec(text) ?? [];
  const ms = 1000 * Number(digits);
  return ms >= 1000 && ms <= 300_000 ? ms : undefined;
});

export const command = mapping(
  {
    run: required(
      list(argument, "argument"),
      "The program by its absolute path, and its arguments; there is no shell. The notices are its input, as a webhook gets them; exit code 0 takes them.",
    ),
    timeout: defaulted(timeout, 10_000, "After this time it is killed, with what it has started."),
  },
  {
    check({ run = [] }, at) {
      const [program] = run;
      if (program === undefined || !isAbsolute(program)) at.error("run: the program needs an absolute path");
    },
  },
);

type CommandConfig = NonNullable<ReturnType<typeof command.read>>;

const mostOutput = 4096;

/** Runs a program of this host, which gets notices as its input. */
export class CommandReceiver implements Receiver {
  readonly sendMs: number;
  readonly #config: CommandConfig;

  constructor(config: CommandConfig) {
    this.#config = config;
    this.sendMs = config.timeout;
  }

  send(notices: readonly Notice[], signal: AbortSignal): Promise<void> {
    const [program = "", ...args] = this.#config.run;
    // Of our own environment it gets what programs need to find others: settings have secrets.
    const env = { PATH: process.env["PATH"] ?? "", LANG: process.env["LANG"] ?? "C.UTF-8" };
    const child = spawn(program, args, {
      shell: false,
      detached: true,
      cwd: "/",
      env,
      stdio: ["pipe", "pipe", "pipe"],
    });
    let output = "";
    if (child.pid === undefined)
      // Without files left it has no streams either.
      return new Promise((_, reject) => {
        child.once("error", (error) => reject(new Error(`${program} cannot be run: ${error.message}`)));
      });
    const take = (part: Buffer): void => void (output = `${output}${part.toString()}`.slice(0, mostOutput));
    child.stdout.on("data", take);
    child.stderr.on("data", take);
    // A program that does not read its input is no fault.
    child.stdin.on("error", () => {});
    child.stdin.end(`${JSON.stringify({ notices })}\n`);
    return new Promise((resolve, reject) => {
      const kill = (): void => {
        killGroup(child.pid);
        const late = `${program} took longer than ${this.#config.timeout / 1000} s and was killed`;
        reject(new Error((signal.reason as Error).name === "TimeoutError" ? late : "the collector stops"));
      };
      const settled = (): void => signal.removeEventListener("abort", kill);
      signal.addEventListener("abort", kill, { once: true });
      // Its exit, and not the end of its output: what it leaves in the background may keep that open.
      child.once("exit", (code, killedBy) => {
        settled();
        child.stdout.destroy();
        child.stderr.destroy();
        const said = output
          .trim()
          .replaceAll(/\p{Cc}+/gu, " ")
          .slice(0, 300);
        if (code === 0) resolve();
        else
          reject(
            new Error(`${program} ended with ${killedBy ?? `exit code ${code}`}${said === "" ? "" : `: ${said}`}`),
          );
      });
    });
  }

  close(): void {
    // Nothing stays open.
  }
}

function killGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, "SIGKILL");
  } catch {
    // It has ended meanwhile.
  }
}
