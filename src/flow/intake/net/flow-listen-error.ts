const reasons: Readonly<Record<string, string>> = {
  EADDRINUSE: "another program has it, or another collector",
  EACCES: "ports below 1024 need the right to bind them",
  EADDRNOTAVAIL: "no interface of this host has the address",
};

/** A flow port cannot be opened; the start fails with it. The message names address, port and reason. */
export class FlowListenError extends Error {
  readonly code = "flow_listen_failed";

  constructor(ip: string, port: number, cause: Error, transport: "UDP" | "TCP" = "UDP") {
    const { code } = cause as NodeJS.ErrnoException;
    const where = ip === "" ? `${transport} port ${port}` : `${transport} port ${port} of ${ip}`;
    super(`cannot receive flows on ${where}: ${reasons[code ?? ""] ?? cause.message} (${code ?? "unknown"})`, {
      cause,
    });
    this.name = "FlowListenError";
  }
}
