import type { Key } from "../ip/index.ts";
import type { UdmContext, UdmValues } from "../udm/index.ts";

/** An entry on its way in or out. */
export interface ExchangeEntry extends UdmValues {
  readonly key: Key;
  /** Where it applies; undefined: everywhere. */
  readonly contexts?: readonly UdmContext[] | undefined;
}
