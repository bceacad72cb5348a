import type { GetDiscoveryAnswer, ListCandidatesAnswer } from "../../api/answers.gen.ts";

export type SearchReport = NonNullable<GetDiscoveryAnswer["last"]>;
export type Candidate = ListCandidatesAnswer["candidates"][number];
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
