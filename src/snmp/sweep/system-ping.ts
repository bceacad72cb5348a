import { execFile } from "node:child_process";

/** The program `ping` cannot be run. */
export class PingError extends Error {
  override readonly name = "PingError";
}

/**
 * Whether an address answers one echo request, by the program `ping` of the system: Node has no sockets for ICMP.
 *
 * @throws PingError when there is no such program, or it may not be used.
 */
export async function systemPing(address: string, timeoutMs: number, signal: AbortSignal): Promise<boolean> {
  const seconds = Math.max(1, Math.ceil(timeoutMs / 1000));
  const options = ["-n", "-q", "-c", "1", "-W", String(seconds), address];
  return new Promise((resolve, reject) => {
    execFile("ping", options, { signal, timeout: 2 * timeoutMs + 1000 }, (error, _out, problem) => {
      if (error === null) resolve(true);
      // Exit code 1: no answer.
      else if (error.code === 1 || error.killed === true || signal.aborted) resolve(false);
      else if ((error as NodeJS.ErrnoException).code === "ENOENT") {
        reject(new PingError("ping: true needs the program ping (Debian's package iputils-ping)"));
      } else if (/not permitted|permission/i.test(problem)) reject(new PingError(`ping: ${problem.trim()}`));
      // An address without a route, for one.
      else resolve(false);
    });
  });
}
