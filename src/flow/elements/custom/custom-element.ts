import type { DataType } from "../registry/information-element.ts";

/** An information element that the user defines. Plain data: it crosses threads. */
export interface CustomElement {
  /** Private enterprise number; 0 for IANA and for everything of NetFlow v9. */
  readonly pen: number;
  readonly id: number;
  /** A word, for `flow.ie.<name>`, or dotted: the name in records. */
  readonly name: string;
  readonly type: DataType;
}
