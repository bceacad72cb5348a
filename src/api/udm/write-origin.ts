import type { WriteOrigin } from "../../udm/index.ts";
import { headerOf } from "../http/http-message.ts";
import type { CallContext } from "../rpc/method.ts";

/** Who calls: what is needed of a call to say where a write came from. */
export type WriteCaller = Pick<CallContext, "headers" | "peer">;

/** What a write of a method is logged with, and what the history says of it. */
export type OriginOf = (method: string, caller: WriteCaller) => WriteOrigin;

/** @param user whom each caller has authenticated as; undefined when nobody has to. */
export function createOrigins(user: string | undefined): OriginOf {
  return (method, { headers, peer }) => ({
    method,
    ...(user !== undefined && { user }),
    ...(peer !== undefined && { peer }),
    ...(headerOf(headers, "user-agent")?.startsWith("netgloss") === true && { author: "cli" }),
  });
}
