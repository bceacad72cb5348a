import type { Exchange } from "./exchange.ts";
import type { Request } from "./request.ts";
import type { SnmpResponse } from "./session.ts";

/** What differs between the versions: how a request becomes messages and back. */
export interface Requester {
  request(request: Request): Promise<SnmpResponse>;
}

/** What a requester is given by its session. */
export interface RequesterContext {
  /** Runs an exchange with the session's agent under the session's time-outs. */
  run<Answer extends object>(exchange: Pick<Exchange<Answer>, "build" | "read">): Promise<Answer>;
}
