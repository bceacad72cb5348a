/** What `GET /api/v1/snmp/devices` says of one device. Times are RFC 3339. */
export interface Device {
  readonly device: string;
  readonly name: string;
  readonly ip: string;
  readonly port: number;
  readonly version: string;
  readonly state: "undiscovered" | "up" | "down" | "elsewhere";
  /** The collector of the fleet that polls it. */
  readonly polledBy?: string;
  readonly discovery?: "queued" | "running";
  readonly groups: readonly string[];
  readonly plan?: { readonly objects: number; readonly attributes: number; readonly discoveredAt: string };
  readonly lastPoll?: string;
  readonly nextPoll?: string;
  readonly lastError?: { readonly time: string; readonly message: string };
  readonly pending: readonly string[];
}

/** The same of `/devices/<device>`. */
export interface DeviceDetail extends Device {
  readonly sysName?: string;
  readonly sysDescr?: string;
  readonly sysObjectId?: string;
  readonly objects: Readonly<Record<string, readonly string[]>>;
  readonly interfaceStates: readonly Interface[];
  readonly addresses: readonly string[];
  readonly counts: Readonly<Record<string, number>>;
}

export interface Interface {
  readonly index: number;
  readonly name?: string;
  readonly alias?: string;
  readonly admin?: string;
  readonly oper?: string;
  readonly bitsPerSecond?: number;
  readonly inBitsPerSecond?: number;
  readonly outBitsPerSecond?: number;
  readonly inErrorsPerSecond?: number;
  readonly outErrorsPerSecond?: number;
  readonly inDiscardsPerSecond?: number;
  readonly outDiscardsPerSecond?: number;
}

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

export type DefinitionsAnswer =
  | { readonly enabled: false }
  | {
      readonly enabled: true;
      readonly ok: boolean;
      readonly inUse: { readonly revision: string; readonly devices: number };
      readonly findings?: readonly { readonly place: string; readonly id: string; readonly message: string }[];
      readonly report?: ApplyReport;
    };

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
