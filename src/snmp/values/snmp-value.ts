import type { Oid } from "../session/oid.ts";
import type { ValueType } from "../session/var-bind.ts";

/** The value of a variable binding, or of one part of an instance's index. Counter64 is a bigint. */
export interface SnmpValue {
  readonly type: ValueType;
  readonly value: number | bigint | Uint8Array | Oid | null;
}
