/** What a search of networks is about. Times are RFC 3339. */
interface SearchedNetworks {
  readonly startedAt: string;
  readonly isDryRun: boolean;
  readonly networks: readonly string[];
  readonly addresses: number;
  readonly probed: number;
}

export interface SearchReport extends SearchedNetworks {
  readonly durationSeconds: number;
  readonly new: readonly {
    readonly name: string;
    readonly device: string;
    readonly credential: string;
    readonly vendor?: string;
    readonly model?: string;
    readonly serial?: string;
    readonly sysObjectId?: string;
    readonly reason?: string;
  }[];
  readonly changed: readonly {
    readonly name: string;
    readonly device: string;
    readonly changes: readonly string[];
    readonly problem?: string;
  }[];
  readonly gone: readonly { readonly name: string; readonly device: string; readonly lastSeen?: string }[];
  readonly duplicates: readonly { readonly device: string; readonly of: string; readonly reason: string }[];
  readonly refused: readonly { readonly address: string; readonly reason: string }[];
  readonly known: number;
  readonly problem?: string;
}

/** What `GET /api/v1/snmp/discovery` answers. */
export interface SearchAnswer {
  readonly enabled: boolean;
  readonly running?: SearchedNetworks & { readonly answered: number };
  readonly last?: SearchReport;
  readonly lastFailure?: { readonly time: string; readonly message: string };
  readonly nextRun?: string;
}

/** What `GET /api/v1/snmp/candidates` answers. */
export interface CandidatesAnswer {
  readonly enabled: boolean;
  readonly candidates: readonly Candidate[];
}

export interface Candidate {
  readonly address: string;
  readonly source: string;
  readonly reason: string;
  readonly state: "outside" | "off" | "waiting" | "silent" | "refused" | "duplicate";
  readonly network?: string;
  readonly triedAt?: string;
}

export type Difference = "new" | "changed" | "gone" | "duplicate" | "refused";

/** One line of a report. */
export interface FoundRow {
  readonly what: Difference;
  readonly device: string;
  readonly name: string;
  readonly why: string;
}

/** The differences of a report, the new devices first. */
export function rowsOf(report: SearchReport): readonly FoundRow[] {
  return [
    ...report.new.map(({ device, name, vendor, model, serial, sysObjectId, credential, reason }): FoundRow => {
      const made = [vendor, model, serial && `serial ${serial}`].filter(Boolean).join(" ") || sysObjectId;
      const why = [made, `credential ${credential}`, reason].filter(Boolean).join(", ");
      return { what: "new", device, name, why };
    }),
    ...report.changed.map(({ device, name, changes, problem }): FoundRow => {
      return { what: "changed", device, name, why: [...changes, problem].filter(Boolean).join("; ") };
    }),
    ...report.gone.map(({ device, name, lastSeen }): FoundRow => {
      return { what: "gone", device, name, why: lastSeen === undefined ? "" : `answered last at ${lastSeen}` };
    }),
    ...report.duplicates.map(({ device, of, reason }): FoundRow => {
      return { what: "duplicate", device, name: of, why: reason };
    }),
    ...report.refused.map(({ address, reason }): FoundRow => {
      return { what: "refused", device: address, name: "", why: reason };
    }),
  ];
}
