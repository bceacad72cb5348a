import type { ValueFault } from "../session/codec/decode-error.ts";
import type { Oid } from "../session/oid.ts";
import type { VarBind } from "../session/var-bind.ts";

/** A notification, whatever version brought it. */
export interface Trap {
  readonly version: "1" | "2c" | "3";
  readonly kind: "trap" | "inform";
  /** Which notification it is: snmpTrapOID, of version 1 translated (RFC 3584 section 3.1). */
  readonly oid: Oid;
  /** sysUpTime of the sender, in hundredths of a second. */
  readonly uptime: number | undefined;
  /** The address of the agent, where the message names one: a trap of version 1, or one that was forwarded. */
  readonly agent: string | undefined;
  /** Of version 3. */
  readonly user: string | undefined;
  /** Of version 1, or one that was forwarded. */
  readonly enterprise: Oid | undefined;
  /** Without those that are fields of this already. */
  readonly varbinds: readonly VarBind[];
  /** What is odd about values. */
  readonly faults: readonly ValueFault[];
}

/**
 * Why a datagram gave no record.
 *
 * - `malformed`: not an SNMP message with a notification; `pdu_type`: another PDU
 * - `connections`: one more by TCP than there may be
 * - `source`: the sender is not in the list; `rate`: it sends more than it may
 * - `community`, `user`, `level`, `digest`, `decryption`, `time_window`, `engine`: its credentials are not right
 * - `rule`: a rule drops it
 */
export const trapRefusals = [
  "malformed",
  "connections",
  "pdu_type",
  "source",
  "rate",
  "community",
  "user",
  "level",
  "digest",
  "decryption",
  "time_window",
  "engine",
  "rule",
] as const;
export type TrapRefusal = (typeof trapRefusals)[number];
