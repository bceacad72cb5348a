import type { GetDeviceAnswer, ListDevicesAnswer, PreviewDefinitionsAnswer } from "../../api/answers.gen.ts";

export type Device = ListDevicesAnswer["devices"][number];
export type Interface = GetDeviceAnswer["interfaceStates"][number];

/** What applying the definitions did, or would do. */
export interface ApplyReport {
  readonly revision: string;
  readonly changes: Readonly<
    Record<
      string,
      { readonly added: readonly string[]; readonly changed: readonly string[]; readonly removed: readonly string[] }
    >
  >;
  readonly affected_devices: readonly string[];
  readonly rediscovering: readonly string[];
  readonly pending: readonly { readonly device: string; readonly definitions: readonly string[] }[];
  readonly warnings: readonly string[];
}

/** The document says only that the report is an object. */
export type DefinitionsAnswer = PreviewDefinitionsAnswer & { readonly report?: ApplyReport };

/** Both directions together against the speed; undefined where one of them is not known. */
export function loadOf({ bitsPerSecond, inBitsPerSecond, outBitsPerSecond }: Interface): number | undefined {
  if (bitsPerSecond === undefined || inBitsPerSecond === undefined) return undefined;
  return Math.max(inBitsPerSecond, outBitsPerSecond ?? 0) / bitsPerSecond;
}

/** Errors and discards of both directions a second; undefined where none is known. */
export function troubleOf(one: Interface): number | undefined {
  const rates = [one.inErrorsPerSecond, one.outErrorsPerSecond, one.inDiscardsPerSecond, one.outDiscardsPerSecond];
  const known = rates.filter((rate) => rate !== undefined);
  return known.length === 0 ? undefined : known.reduce((sum, rate) => sum + rate, 0);
}
