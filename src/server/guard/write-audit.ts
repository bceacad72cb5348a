import { createLineBudget, type Clock, type Log } from "../../base/report/index.ts";
import type { Call } from "../http/call.ts";

/**
 * Logs each call that may change something: who, from where, what, with which result. Of masses of them most have their line
 * at level debug; the next line at level warn or info says how many they were.
 */
export function createWriteAudit(log: Log, clock: Clock): (call: Call) => void {
  const hasBudget = createLineBudget(clock);
  let more = 0;
  return (call) => {
    const { audit, principal, peer, label, wire, code, failure, method } = call;
    const isDone = code === "ok";
    if (audit === "nothing" || (audit === "failure" && isDone) || method === "OPTIONS") return;
    const fields = {
      method: label,
      result: code,
      transport: wire,
      ...(principal !== undefined && { user: principal.name, by: principal.by }),
      ...(peer !== undefined && { peer }),
      ...(failure !== undefined && { reason: failure }),
    };
    const message = isDone ? "operation done" : "operation refused or failed";
    if (!hasBudget()) {
      more++;
      log.debug(fields, message);
      return;
    }
    log[isDone ? "info" : "warn"](more === 0 ? fields : { ...fields, more }, message);
    more = 0;
  };
}
