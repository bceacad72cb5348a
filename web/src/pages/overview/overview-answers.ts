import type { Refusal } from "../../api/refusals.ts";

/** What `GET /api/v1/overview` answers. */
export interface OverviewAnswer {
  readonly recentSeconds: number;
  readonly recordsTotal: number;
  readonly recordsPerSecond: number | null;
  readonly datagramsPerSecond: number | null;
  readonly losses: readonly Loss[];
}

export interface Loss {
  readonly what: string;
  readonly of?: string;
  readonly metric: string;
  readonly unit: string;
  readonly total: number;
  readonly recent: number;
}

/** What `GET /api/v1/flow/diagnosis` answers, as far as it is shown. */
export interface DiagnosisAnswer {
  readonly exporters: number;
  readonly diagnoses: readonly {
    readonly id: string;
    readonly severity: "problem" | "warning" | "note";
    readonly exporter?: string;
    readonly sentence: string;
    readonly advice: string;
  }[];
}

/** What `GET /readyz` answers. */
export interface ReadyAnswer {
  readonly ready: boolean;
  readonly checks: readonly {
    readonly name: string;
    readonly ready: boolean;
    readonly degraded?: boolean;
    readonly detail?: string;
  }[];
}

/** What `GET /api/v1/outputs` answers, as far as it is shown. */
export interface OutputsAnswer {
  readonly outputs: readonly {
    readonly name: string;
    readonly state: "connecting" | "working" | "failing" | "restarting";
    readonly fault?: string;
    readonly waitingRecords?: number;
    readonly oldestAt?: number;
    readonly refusals?: readonly Refusal[];
  }[];
}
