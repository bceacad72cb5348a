/** The SNMP operations that the port offers. The collector hands in what carries them out. */
export interface SnmpOperations {
  /**
   * Reads all definition files again, validates them and puts them to use, or none of them.
   *
   * @param forceRediscovery whether devices whose definitions have changed are rediscovered.
   */
  applyDefinitions(forceRediscovery: boolean): Promise<SnmpApplied>;
  /**
   * Begins the discovery of a device, or joins the one under way.
   *
   * @param wait when given, the promise resolves with the outcome, or with the state after this many seconds or when the
   *   signal aborts.
   * @returns undefined when there is no such device.
   */
  rediscoverDevice(
    device: SnmpDeviceId,
    wait?: { readonly seconds: number; readonly signal: AbortSignal },
  ): Promise<SnmpRediscovery | undefined>;
  /**
   * Searches networks for devices. At most one search runs at a time.
   *
   * @param wait as of `rediscoverDevice`.
   */
  discoverNetworks(
    request: SnmpSearch,
    wait?: { readonly seconds: number; readonly signal: AbortSignal },
  ): Promise<SnmpSearched>;
}

export interface SnmpSearch {
  /** Writes nothing. */
  readonly isDryRun: boolean;
  /** Names of networks; empty: all. */
  readonly networks: readonly string[];
}

export type SnmpSearched =
  | { readonly ok: true; readonly isDone: boolean; readonly report: Readonly<Record<string, unknown>> }
  /** `off`: no networks are set up. `invalid`: their file has errors, or not these networks. */
  | { readonly ok: false; readonly reason: "off" | "busy" | "invalid"; readonly problems: readonly string[] };

export interface SnmpDeviceId {
  /** Canonical text. */
  readonly ip: string;
  readonly port: number;
}

export type SnmpApplied =
  | {
      readonly ok: true;
      /** What changed, as it is shown to the client. */ readonly report: Readonly<Record<string, unknown>>;
    }
  | { readonly ok: false; readonly findings: readonly SnmpFinding[] };

/** One thing that is wrong with the definition files. Never holds a secret. */
export interface SnmpFinding {
  /** `file:line:column` */
  readonly place: string;
  /** Of the definition. */
  readonly id: string;
  readonly message: string;
}

export interface SnmpRediscovery {
  /** Whether the discovery has ended. */
  readonly isDone: boolean;
  /** The state or the outcome, as it is shown to the client. */
  readonly report: Readonly<Record<string, unknown>>;
}
