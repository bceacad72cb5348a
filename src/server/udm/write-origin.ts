import type { WriteOrigin } from "../../metadata/index.ts";
import { headerOf } from "../http/http-message.ts";
import type { CallContext } from "../rpc/method.ts";

/** Who calls: what is needed of a call to say where a write came from. */
export type WriteCaller = Pick<CallContext, "headers" | "peer" | "principal">;

/** What a write of a method is logged with, and what the history says of it. */
export function originOf(method: string, { headers, peer, principal }: WriteCaller): WriteOrigin {
  return {
    method,
    ...(principal !== undefined && { user: principal.name }),
    ...(peer !== undefined && { peer }),
    ...(headerOf(headers, "user-agent")?.startsWith("netgloss") === true && { author: "cli" }),
  };
}
