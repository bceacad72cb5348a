import { listenFault } from "../../../report/index.ts";

/** A flow port cannot be opened; the start fails with it. The message names address, port and reason. */
export class FlowListenError extends Error {
  readonly code = "flow_listen_failed";

  constructor(ip: string, port: number, cause: Error, transport: "UDP" | "TCP" = "UDP") {
    const where = ip === "" ? `${transport} port ${port}` : `${transport} port ${port} of ${ip}`;
    super(`cannot receive flows on ${where}: ${listenFault(cause)}`, { cause });
    this.name = "FlowListenError";
  }
}
