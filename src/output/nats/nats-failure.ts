import { causesOf, connectionFailure } from "../delivery/failure-text.ts";
import { DeliveryError, type Blame } from "../delivery/delivery-error.ts";
import { errorCode } from "../errno.ts";

/** Says in a sentence why a server could not be used. The library wraps what the system says into errors of its own. */
export function natsFailure(error: unknown, place: string): DeliveryError {
  if (error instanceof DeliveryError) return error;
  const all = [...causesOf(error)];
  const of = (name: string): Error | undefined => all.find((one) => one.name === name);
  const failure = (code: string, text: string, blame: Blame = "operator"): DeliveryError =>
    new DeliveryError(blame, code, `${place} ${text}`, { cause: error });
  const denied = of("AuthorizationError") ?? of("UserAuthenticationExpiredError");
  if (denied !== undefined) return failure("credentials", `refuses the credentials (${denied.message})`);
  const permission = of("PermissionViolationError");
  if (permission !== undefined) return failure("permission", `does not allow it: ${permission.message}`);
  if (of("JetStreamNotEnabled") !== undefined) return failure("no_jetstream", "has no JetStream for this account");
  if (of("TimeoutError") !== undefined) return failure("timeout", "does not answer", "store");
  const system = all.find((one) => errorCode(one) !== one.name);
  if (system !== undefined) return connectionFailure(system, place);
  const [first] = all;
  // A peer that hangs up has the library reject with nothing.
  if (first === undefined || first.name === "ClosedConnectionError") return connectionLost(place, error);
  return failure("unreachable", `cannot be used: ${first.message}`, "store");
}

export function connectionLost(place: string, cause: unknown): DeliveryError {
  return new DeliveryError("store", "connection_lost", `${place} closed the connection`, { cause });
}
