// Written by `npm run generate` from the tables of src/server/methods/.

/** What `GET /api/v1/flow/exporters` answers. */
export type ListExportersAnswer = {
  readonly enabled: boolean;
  readonly listening: {
    readonly addresses: readonly string[];
    readonly udp: readonly number[];
    readonly tcp: readonly number[];
  };
  readonly exporters: readonly {
    readonly address: string;
    readonly name?: string;
    readonly relay?: string;
    readonly isRelay: boolean;
    readonly firstSeen: number;
    readonly lastSeen: number;
    readonly datagrams: number;
    readonly records: number;
    readonly recordsPerSecond: number;
    readonly manualRate?: number;
    readonly fallbackRate?: number;
    readonly domains: readonly {
      readonly protocol: string;
      readonly id: number;
      readonly agent?: string;
      readonly port?: number;
      readonly templates: readonly {
        readonly id: number;
        readonly kind: "flows" | "options";
        readonly fields: number;
        readonly sampling?: "rate" | "sampler";
        readonly namesExporter: boolean;
        readonly definedAt: number;
        readonly refreshedAt: number;
        readonly origin: "received" | "restored" | "shared";
      }[];
      readonly waitingSets: number;
      readonly waitingSince?: number;
      readonly waitingFor: readonly number[];
      readonly givenUpSets: number;
      readonly received: number;
      readonly missingAt?: number;
      readonly missing: number;
      readonly missingSamples: number;
      readonly samplerDrops: number;
      readonly late: number;
      readonly resets: number;
      readonly sampling: readonly { readonly scope: string; readonly rate: number }[];
      readonly samplingChange?: {
        readonly scope: string;
        readonly from: number;
        readonly to: number;
        readonly count: number;
      };
      readonly clockOffset?: number;
      readonly senders: readonly {
        readonly port: number;
        readonly firstSeen: number;
        readonly lastSeen: number;
        readonly bootTime?: number;
      }[];
      readonly names: { readonly interfaces: number; readonly applications: number; readonly vrfs: number };
      readonly bootTime?: number;
    }[];
  }[];
};

/** What `GET /api/v1/flow/exporters/{id}/diagnosis` answers. */
export type DiagnoseExporterAnswer = {
  readonly healthy: boolean;
  readonly at: number;
  readonly ports: readonly number[];
  readonly exporters: number;
  readonly diagnoses: readonly {
    readonly id:
      | "flows-off"
      | "not-in-fleet"
      | "nothing-received"
      | "port-shared"
      | "not-understood"
      | "kernel-drops"
      | "queue-drops"
      | "output-failing"
      | "output-drops"
      | "output-refused"
      | "traps-refused"
      | "never-heard"
      | "silent"
      | "template-missing"
      | "no-flows"
      | "sampler-unknown"
      | "sampling-conflict"
      | "sampling-overridden"
      | "sampling-unknown"
      | "gaps"
      | "agent-drops"
      | "several-devices"
      | "clock-off"
      | "same-flows"
      | "both-directions"
      | "counters-disagree";
    readonly severity: "problem" | "warning" | "note";
    readonly exporter?: string;
    readonly sentence: string;
    readonly evidence: Readonly<Record<string, unknown>>;
    readonly advice: string;
  }[];
};

/** What `GET /api/v1/watch/alerts` answers. */
export type ListAlertsAnswer = {
  readonly enabled: boolean;
  readonly firing: number;
  readonly pending: number;
  readonly cleared: number;
  readonly matched: number;
  readonly alerts: readonly {
    readonly id: string;
    readonly rule: string;
    readonly key: Readonly<Record<string, string>>;
    readonly state: "pending" | "firing" | "cleared";
    readonly since: number;
    readonly firedAt?: number;
    readonly clearedAt?: number;
    readonly value: number;
    readonly peak: number;
    readonly limit?: number;
    readonly unit: string;
    readonly text: string;
    readonly top?: Readonly<Record<string, readonly { readonly value: string; readonly share: number }[]>>;
    readonly series?: { readonly stepMs: number; readonly values: readonly number[] };
    readonly snoozed?: { readonly by: string; readonly until: number };
    readonly untold?: true;
    readonly silence?: { readonly id: string; readonly until: number };
    readonly acknowledged?: { readonly by: string; readonly at: number };
    readonly note?: string;
    readonly because?: string;
  }[];
};

/** What `GET /api/v1/watch/alerts/{id}` answers. */
export type GetAlertAnswer = {
  readonly alert: {
    readonly id: string;
    readonly rule: string;
    readonly key: Readonly<Record<string, string>>;
    readonly state: "pending" | "firing" | "cleared";
    readonly since: number;
    readonly firedAt?: number;
    readonly clearedAt?: number;
    readonly value: number;
    readonly peak: number;
    readonly limit?: number;
    readonly unit: string;
    readonly text: string;
    readonly top?: Readonly<Record<string, readonly { readonly value: string; readonly share: number }[]>>;
    readonly series?: { readonly stepMs: number; readonly values: readonly number[] };
    readonly snoozed?: { readonly by: string; readonly until: number };
    readonly untold?: true;
    readonly silence?: { readonly id: string; readonly until: number };
    readonly acknowledged?: { readonly by: string; readonly at: number };
    readonly note?: string;
    readonly because?: string;
  };
  readonly recent?: { readonly stepMs: number; readonly values: readonly number[] };
  readonly notices: readonly {
    readonly action: string;
    readonly kind: "firing" | "cleared" | "summary";
    readonly state: "waiting" | "sent" | "aside";
    readonly at?: number;
    readonly because?: string;
  }[];
};

/** What `GET /api/v1/watch/silences` answers. */
export type ListSilencesAnswer = {
  readonly enabled: boolean;
  readonly silences: readonly {
    readonly id: string;
    readonly filter: string;
    readonly from: number;
    readonly until: number;
    readonly by: string;
    readonly comment: string;
  }[];
};

/** What `GET /api/v1/watch/rules` answers. */
export type GetWatchAnswer = {
  readonly enabled: boolean;
  readonly fault?: string;
  readonly rules: readonly {
    readonly name: string;
    readonly keys: number;
    readonly firing: number;
    readonly refused: number;
    readonly history?: string;
    readonly act: readonly string[];
  }[];
  readonly actions: readonly {
    readonly name: string;
    readonly waiting: number;
    readonly sent: number;
    readonly failures: number;
    readonly dropped: number;
    readonly aside: number;
    readonly fault?: string;
  }[];
};

/** What `GET /api/v1/watch/answers` answers. */
export type ListAnswersAnswer = {
  readonly enabled: boolean;
  readonly mode: "dry-run" | "approve" | "automatic";
  readonly approvals: number;
  readonly answers: readonly {
    readonly id: string;
    readonly alert: string;
    readonly rule: string;
    readonly action: string;
    readonly reason: string;
    readonly routes: readonly {
      readonly kind: "blackhole" | "flowspec";
      readonly prefix: string;
      readonly nextHop?: string;
      readonly communities: readonly string[];
      readonly match?: {
        readonly source?: string;
        readonly protocol?: number;
        readonly sourcePorts?: readonly number[];
        readonly destinationPorts?: readonly number[];
        readonly packetLength?: { readonly from: number; readonly to: number };
        readonly fragment?: boolean;
        readonly syn?: boolean;
      };
      readonly bytesPerSecond?: number;
    }[];
    readonly text: string;
    readonly evidence?: {
      readonly takes: number;
      readonly harms?: number;
      readonly fits: boolean;
      readonly attackRows: number;
      readonly usualRows: number;
      readonly usualSeconds: number;
    };
    readonly state: "proposed" | "announcing" | "announced" | "withdrawing" | "ended" | "refused";
    readonly because?: string;
    readonly proposedAt: number;
    readonly allowed: readonly { readonly by: string; readonly at: number }[];
    readonly announcedAt?: number;
    readonly endsAt?: number;
    readonly endedAt?: number;
    readonly endedBy?: string;
    readonly fault?: string;
    readonly speaker: string;
  }[];
};

/** What `GET /api/v1/flow/diagnosis` answers. */
export type DiagnoseAnswer = {
  readonly healthy: boolean;
  readonly at: number;
  readonly ports: readonly number[];
  readonly exporters: number;
  readonly diagnoses: readonly {
    readonly id:
      | "flows-off"
      | "not-in-fleet"
      | "nothing-received"
      | "port-shared"
      | "not-understood"
      | "kernel-drops"
      | "queue-drops"
      | "output-failing"
      | "output-drops"
      | "output-refused"
      | "traps-refused"
      | "never-heard"
      | "silent"
      | "template-missing"
      | "no-flows"
      | "sampler-unknown"
      | "sampling-conflict"
      | "sampling-overridden"
      | "sampling-unknown"
      | "gaps"
      | "agent-drops"
      | "several-devices"
      | "clock-off"
      | "same-flows"
      | "both-directions"
      | "counters-disagree";
    readonly severity: "problem" | "warning" | "note";
    readonly exporter?: string;
    readonly sentence: string;
    readonly evidence: Readonly<Record<string, unknown>>;
    readonly advice: string;
  }[];
};

/** What `GET /api/v1/enrich/sources` answers. */
export type ListSourcesAnswer = {
  readonly enabled: boolean;
  readonly sources: readonly {
    readonly name: string;
    readonly kind: string;
    readonly place: string;
    readonly priority: number;
    readonly entries: number;
    readonly state: "waiting" | "restored" | "working" | "held" | "failing";
    readonly lastGood?: number;
    readonly nextRun?: number;
    readonly run?: {
      readonly at: number;
      readonly ms: number;
      readonly result: "updated" | "unchanged" | "held" | "failed";
      readonly reason?: string;
      readonly code?: string;
      readonly missingScopes?: readonly string[];
      readonly rows: number;
      readonly faultyRows: number;
      readonly faults: readonly {
        readonly row: number;
        readonly line?: number;
        readonly lines?: number;
        readonly column: string;
        readonly field?: string;
        readonly reason: string;
      }[];
      readonly changes?: {
        readonly added: number;
        readonly changed: number;
        readonly removed: number;
        readonly unchanged: number;
      };
    };
  }[];
};

/** What `GET /api/v1/enrich/rules` answers. */
export type ListRulesAnswer = {
  readonly enabled: boolean;
  readonly fault?: string;
  readonly text?: string;
  readonly rules: readonly {
    readonly name: string;
    readonly of: "exporter" | "in" | "out" | "record";
    readonly fields: readonly string[];
  }[];
};

/** What `GET /api/v1/outputs` answers. */
export type ListOutputsAnswer = {
  readonly outputs: readonly {
    readonly name: string;
    readonly state: "connecting" | "working" | "failing" | "restarting";
    readonly fault?: string;
    readonly faultSince?: number;
    readonly blame?: "operator" | "store";
    readonly queueBytes?: number;
    readonly waitingRecords?: number;
    readonly oldestAt?: number;
    readonly spoolMode?: "off" | "overflow" | "always";
    readonly spoolBytes?: number;
    readonly spoolMaxBytes?: number;
    readonly inFlight?: number;
    readonly deliveredRecords?: number;
    readonly retriedRecords?: number;
    readonly refusedRecords?: number;
    readonly droppedRecords?: number;
    readonly drops?: readonly {
      readonly reason: "queue_full" | "closed" | "stopped" | "spool_full" | "spool_damaged" | "thread_died";
      readonly records: number;
    }[];
    readonly latency?: { readonly medianMs: number; readonly slowestMs: number };
    readonly refusals?: readonly { readonly reason: string; readonly records: number; readonly at: number }[];
    readonly deadLetters?: {
      readonly records: number;
      readonly bytes: number;
      readonly isResending: boolean;
      readonly reasons: readonly {
        readonly reason: string;
        readonly records: number;
        readonly firstAt: number;
        readonly at: number;
      }[];
    };
    readonly canTest?: boolean;
  }[];
};

/** What `GET /api/v1/progress` answers. */
export type ListTasksAnswer = {
  readonly tasks: readonly {
    readonly id: number;
    readonly kind:
      | "import"
      | "import-check"
      | "replace"
      | "replace-check"
      | "apply-definitions"
      | "preview-definitions"
      | "discover-networks";
    readonly subject: string;
    readonly by?: string;
    readonly step: string;
    readonly done: number;
    readonly total?: number;
    readonly unit: string;
    readonly startedAt: number;
  }[];
};

/** What `GET /api/v1/settings` answers. */
export type GetSettingsAnswer = {
  readonly version: string;
  readonly node: string;
  readonly instance: string;
  readonly startedAt: number;
  readonly settings: readonly {
    readonly name: string;
    readonly group: string;
    readonly help: string;
    readonly expected: string;
    readonly value?: string;
    readonly isSecret?: boolean;
    readonly isSet?: boolean;
    readonly default: string;
    readonly origin: string;
  }[];
  readonly unknown: readonly string[];
  readonly warnings: readonly string[];
  readonly reload: { readonly readsAgain: readonly string[]; readonly leavesAlone: readonly string[] };
  readonly restart: {
    readonly problems: readonly string[];
    readonly changes: readonly {
      readonly name: string;
      readonly inForce?: string;
      readonly next?: string;
      readonly isSecret?: boolean;
      readonly origin: string;
    }[];
  };
  readonly packages: readonly { readonly name: string; readonly version: string; readonly license: string }[];
};

/** What `GET /api/v1/snmp/definitions` answers. */
export type PreviewDefinitionsAnswer = {
  readonly enabled: boolean;
  readonly ok?: boolean;
  readonly inUse?: { readonly revision: string; readonly devices: number };
  readonly findings?: readonly { readonly place: string; readonly id: string; readonly message: string }[];
  readonly report?: Readonly<Record<string, unknown>>;
};

/** What `GET /api/v1/overview` answers. */
export type GetOverviewAnswer = {
  readonly at: number;
  readonly recentSeconds: number;
  readonly recordsTotal: number;
  readonly recordsPerSecond: number | null;
  readonly datagramsPerSecond: number | null;
  readonly losses: readonly {
    readonly what: string;
    readonly of?: string;
    readonly metric: string;
    readonly unit: "datagrams" | "records" | "samples" | "bytes" | "units";
    readonly total: number;
    readonly recent: number;
  }[];
};

/** What `GET /api/v1/fields` answers. */
export type ListFieldsAnswer = {
  readonly fields: readonly {
    readonly name: string;
    readonly type: string;
    readonly isArray: boolean;
    readonly unit?: string;
    readonly description: string;
    readonly source: string;
    readonly isAdded: boolean;
  }[];
  readonly patterns: readonly {
    readonly pattern: string;
    readonly description: string;
    readonly source: string;
    readonly isAdded: boolean;
  }[];
  readonly shortNames: readonly {
    readonly name: string;
    readonly fields: readonly string[];
    readonly description: string;
  }[];
};

/** What `GET /api/v1/snmp/discovery` answers. */
export type GetDiscoveryAnswer = {
  readonly enabled: boolean;
  readonly running?: {
    readonly isDryRun: boolean;
    readonly networks: readonly string[];
    readonly startedAt: string;
    readonly addresses: number;
    readonly probed: number;
    readonly answered: number;
  };
  readonly last?: {
    readonly isDryRun: boolean;
    readonly networks: readonly string[];
    readonly startedAt: string;
    readonly addresses: number;
    readonly probed: number;
    readonly durationSeconds: number;
    readonly new: readonly {
      readonly name: string;
      readonly device: string;
      readonly network: string;
      readonly credential: string;
      readonly vendor?: string;
      readonly model?: string;
      readonly serial?: string;
      readonly sysObjectId?: string;
      readonly reason?: string;
      readonly file?: string;
    }[];
    readonly changed: readonly {
      readonly name: string;
      readonly device: string;
      readonly changes: readonly string[];
      readonly problem?: string;
    }[];
    readonly gone: readonly { readonly name: string; readonly device: string; readonly lastSeen?: string }[];
    readonly duplicates: readonly { readonly device: string; readonly of: string; readonly reason: string }[];
    readonly known: number;
    readonly refused: readonly { readonly address: string; readonly network: string; readonly reason: string }[];
    readonly problem?: string;
  };
  readonly lastFailure?: { readonly time: string; readonly message: string };
  readonly nextRun?: string;
};

/** What `GET /api/v1/snmp/candidates` answers. */
export type ListCandidatesAnswer = {
  readonly enabled: boolean;
  readonly candidates: readonly {
    readonly address: string;
    readonly source: "lldp" | "cdp" | "arp" | "flow";
    readonly reason: string;
    readonly state: "outside" | "off" | "waiting" | "silent" | "refused" | "duplicate";
    readonly network?: string;
    readonly triedAt?: string;
  }[];
};

/** What `GET /api/v1/topology` answers. */
export type GetTopologyAnswer = {
  readonly enabled: boolean;
  readonly devices: readonly {
    readonly id: string;
    readonly ip: string;
    readonly name: string;
    readonly metadata: Readonly<Record<string, string>>;
  }[];
  readonly links: readonly {
    readonly id: string;
    readonly layer: number;
    readonly a: {
      readonly device?: string;
      readonly name?: string;
      readonly address?: string;
      readonly port?: { readonly index?: number; readonly name?: string };
      readonly aggregate?: { readonly index?: number; readonly name?: string };
    };
    readonly b: {
      readonly device?: string;
      readonly name?: string;
      readonly address?: string;
      readonly port?: { readonly index?: number; readonly name?: string };
      readonly aggregate?: { readonly index?: number; readonly name?: string };
    };
    readonly state: "up" | "gone";
    readonly confidence: "confirmed" | "likely" | "unsure";
    readonly evidence: readonly {
      readonly kind: "lldp" | "cdp" | "stp" | "forwarding" | "subnet" | "arp" | "ospf" | "bgp";
      readonly by: string;
      readonly at: number;
    }[];
    readonly doubts: readonly string[];
    readonly since: number;
    readonly seen: number;
  }[];
};

/** What `GET /api/v1/topology/devices/{id}` answers. */
export type GetNeighborsAnswer = {
  readonly enabled: boolean;
  readonly links: readonly {
    readonly id: string;
    readonly layer: number;
    readonly a: {
      readonly device?: string;
      readonly name?: string;
      readonly address?: string;
      readonly port?: { readonly index?: number; readonly name?: string };
      readonly aggregate?: { readonly index?: number; readonly name?: string };
    };
    readonly b: {
      readonly device?: string;
      readonly name?: string;
      readonly address?: string;
      readonly port?: { readonly index?: number; readonly name?: string };
      readonly aggregate?: { readonly index?: number; readonly name?: string };
    };
    readonly state: "up" | "gone";
    readonly confidence: "confirmed" | "likely" | "unsure";
    readonly evidence: readonly {
      readonly kind: "lldp" | "cdp" | "stp" | "forwarding" | "subnet" | "arp" | "ospf" | "bgp";
      readonly by: string;
      readonly at: number;
    }[];
    readonly doubts: readonly string[];
    readonly since: number;
    readonly seen: number;
  }[];
};

/** What `GET /api/v1/topology/locate/{id}` answers. */
export type LocateAnswer = {
  readonly address: string;
  readonly device?: string;
  readonly macs: readonly string[];
  readonly locations: readonly {
    readonly device: string;
    readonly name: string;
    readonly ip: string;
    readonly port: { readonly index?: number; readonly name?: string };
    readonly mac: string;
    readonly isEdge: boolean;
    readonly addresses: number;
    readonly at: number;
  }[];
};

/** What `GET /api/v1/snmp/devices` answers. */
export type ListDevicesAnswer = {
  readonly enabled: boolean;
  readonly devices: readonly {
    readonly device: string;
    readonly name: string;
    readonly ip: string;
    readonly port: number;
    readonly version: "1" | "2c" | "3";
    readonly state: "undiscovered" | "up" | "down" | "elsewhere";
    readonly polledBy?: string;
    readonly discovery?: "queued" | "running";
    readonly groups: readonly string[];
    readonly plan?: { readonly objects: number; readonly attributes: number; readonly discoveredAt: string };
    readonly lastPoll?: string;
    readonly nextPoll?: string;
    readonly lastError?: { readonly time: string; readonly message: string };
    readonly pending: readonly string[];
  }[];
};

/** What `GET /api/v1/snmp/devices/{id}` answers. */
export type GetDeviceAnswer = {
  readonly device: string;
  readonly name: string;
  readonly ip: string;
  readonly port: number;
  readonly version: "1" | "2c" | "3";
  readonly state: "undiscovered" | "up" | "down" | "elsewhere";
  readonly polledBy?: string;
  readonly discovery?: "queued" | "running";
  readonly groups: readonly string[];
  readonly plan?: { readonly objects: number; readonly attributes: number; readonly discoveredAt: string };
  readonly lastPoll?: string;
  readonly nextPoll?: string;
  readonly lastError?: { readonly time: string; readonly message: string };
  readonly pending: readonly string[];
  readonly sysName?: string;
  readonly sysDescr?: string;
  readonly sysObjectId?: string;
  readonly objects: Readonly<Record<string, readonly string[]>>;
  readonly interfaces: Readonly<Record<string, string>>;
  readonly interfaceStates: readonly {
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
  }[];
  readonly addresses: readonly string[];
  readonly counts: Readonly<Record<string, number>>;
};

/** What `GET /api/v1/explore/status` answers. */
export type ExploreStatusAnswer = {
  readonly enabled: true;
  readonly store: "duckdb" | "clickhouse";
  readonly from?: string;
  readonly to?: string;
  readonly rows?: number;
  readonly bytes?: number;
  readonly sampling: number;
  readonly droppedRows?: number;
  readonly fields: readonly {
    readonly name: string;
    readonly type: "string" | "ip" | "integer" | "double" | "boolean" | "time";
    readonly isArray: boolean;
    readonly dimension: boolean;
    readonly isRolledUp: boolean;
    readonly label: string;
    readonly unit: string;
  }[];
  readonly retention: { readonly hours: number; readonly bytes: number };
  readonly rollups?: {
    readonly from?: string;
    readonly to?: string;
    readonly bytes?: number;
    readonly retention: { readonly hours: number; readonly bytes: number };
  };
};

/** What `POST /api/v1/explore/query` answers. */
export type ExploreQueryAnswer = {
  readonly from: string;
  readonly to: string;
  readonly granularitySeconds: number;
  readonly measure: string;
  readonly when: "flowed" | "received";
  readonly unit: "B" | "packets" | "flows" | "bit/s" | "packet/s" | "%" | "addresses" | "ports";
  readonly dimensions: readonly string[];
  readonly times?: readonly string[];
  readonly rows: readonly {
    readonly key: readonly (string | number | boolean | null)[];
    readonly share: number;
    readonly value: number;
    readonly previous?: number;
    readonly series?: readonly number[];
    readonly percentile?: number;
  }[];
  readonly others: {
    readonly keys: number;
    readonly share: number;
    readonly value: number;
    readonly previous?: number;
    readonly series?: readonly number[];
    readonly percentile?: number;
  };
  readonly total: {
    readonly value: number;
    readonly previous?: number;
    readonly series?: readonly number[];
    readonly percentile?: number;
  };
  readonly estimated?: boolean;
  readonly sampling: number;
  readonly complete: boolean;
  readonly parts: readonly { readonly kind: "records" | "minutes"; readonly from: string; readonly to: string }[];
  readonly missing?: {
    readonly from: string;
    readonly to: string;
    readonly because: string;
    readonly lacking: readonly string[];
  };
  readonly missingBefore?: {
    readonly from: string;
    readonly to: string;
    readonly because: string;
    readonly lacking: readonly string[];
  };
  readonly store: "duckdb" | "clickhouse";
  readonly elapsedMs: number;
};

/** What `POST /api/v1/explore/profile` answers. */
export type ExploreProfileAnswer = {
  readonly field: string;
  readonly value: string;
  readonly filter: string;
  readonly traffic?: {
    readonly from: string;
    readonly to: string;
    readonly granularitySeconds: number;
    readonly times: readonly string[];
    readonly ways: readonly {
      readonly way: "in" | "out" | "all";
      readonly filter: string;
      readonly value: number;
      readonly series: readonly number[];
      readonly previous?: { readonly value: number; readonly series: readonly number[] };
    }[];
    readonly sampling: number;
    readonly missing?: {
      readonly from: string;
      readonly to: string;
      readonly because: string;
      readonly lacking: readonly string[];
    };
  };
  readonly rankings?: readonly {
    readonly name: "peers" | "sources" | "destinations" | "services" | "applications" | "exporters";
    readonly way: "in" | "out" | "all";
    readonly dimensions: readonly string[];
    readonly rows: readonly {
      readonly key: readonly (string | number | boolean | null)[];
      readonly share: number;
      readonly value: number;
    }[];
    readonly others: { readonly keys: number; readonly share: number; readonly value: number };
    readonly total: { readonly value: number };
  }[];
  readonly seen?: { readonly first?: string; readonly last?: string; readonly keptSince?: string };
  readonly elapsedMs: number;
};

/** What `POST /api/v1/filter/completion` answers. */
export type FilterCompletionAnswer = {
  readonly expects: "field" | "operator" | "value" | "joiner" | "nothing";
  readonly from: number;
  readonly to: number;
  readonly items: readonly {
    readonly insert: string;
    readonly kind: "field" | "operator" | "value" | "word";
    readonly detail?: string;
    readonly bytes?: number;
  }[];
  readonly complete: boolean;
  readonly fault?: { readonly line: number; readonly column: number; readonly fault: string; readonly message: string };
};

/** What `GET /api/v1/annotations` answers. */
export type AnnotationsAnswer = {
  readonly from: string;
  readonly to: string;
  readonly annotations: readonly {
    readonly kind: "metadata" | "restart" | "alert" | "mark";
    readonly time: string;
    readonly until?: string;
    readonly text: string;
    readonly count: number;
    readonly id?: string;
    readonly user?: string;
  }[];
  readonly left: number;
  readonly lacking: readonly ("metadata" | "restart" | "alert" | "mark")[];
};

/** What `GET /api/v1/reports` answers. */
export type ReportsAnswer = {
  readonly actions: readonly string[];
  readonly reports: readonly {
    readonly id: string;
    readonly name: string;
    readonly board: string;
    readonly schedule: string;
    readonly zone: string;
    readonly paused: boolean;
    readonly next?: string;
    readonly fault?: string;
    readonly runs: readonly {
      readonly id: string;
      readonly due: string;
      readonly from: string;
      readonly to: string;
      readonly by: string;
      readonly state: "waiting" | "sent" | "failed";
      readonly deliveries: readonly { readonly action: string; readonly sentAt?: string; readonly fault?: string }[];
      readonly fault?: string;
    }[];
  }[];
};

/** What `POST /api/v1/reports/preview` answers. */
export type ReportPreviewAnswer = {
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  readonly files: readonly { readonly name: string; readonly type: string; readonly content: string }[];
};

/** What `GET /api/v1/views` answers. */
export type SavedViewsAnswer = {
  readonly kept: boolean;
  readonly problem?: string;
  readonly views: readonly {
    readonly id: string;
    readonly name: string;
    readonly description: string;
    readonly role: "viewer" | "editor" | "operator" | "admin";
    readonly from: string;
    readonly to: string;
    readonly filter: string;
    readonly dimensions: readonly string[];
    readonly measure:
      | "bytes"
      | "packets"
      | "flows"
      | "bits_per_second"
      | "packets_per_second"
      | "utilisation_in"
      | "utilisation_out"
      | "sources"
      | "destinations"
      | "source_ports"
      | "destination_ports";
    readonly when: "flowed" | "received";
    readonly limit: number;
    readonly compare: boolean;
    readonly show: "chart" | "table" | "both";
    readonly shape: "stacked" | "lines" | "share" | "grid";
    readonly bothWays: boolean;
    readonly peaks: boolean;
    readonly revision: number;
    readonly changedAt: string;
    readonly changedBy: string;
  }[];
  readonly boards: readonly {
    readonly id: string;
    readonly name: string;
    readonly description: string;
    readonly role: "viewer" | "editor" | "operator" | "admin";
    readonly from: string;
    readonly to: string;
    readonly filter: string;
    readonly views: readonly string[];
    readonly revision: number;
    readonly changedAt: string;
    readonly changedBy: string;
  }[];
  readonly reports: readonly {
    readonly id: string;
    readonly name: string;
    readonly description: string;
    readonly role: "viewer" | "editor" | "operator" | "admin";
    readonly board: string;
    readonly schedule: string;
    readonly zone: string;
    readonly period: string;
    readonly actions: readonly string[];
    readonly paused: boolean;
    readonly revision: number;
    readonly changedAt: string;
    readonly changedBy: string;
  }[];
};

/** What `GET /api/v1/views/changes` answers. */
export type ViewChangesAnswer = {
  readonly changes: readonly {
    readonly number: number;
    readonly time: string;
    readonly user: string;
    readonly kind: "view" | "board" | "report" | "mark";
    readonly id: string;
    readonly action: "created" | "changed" | "deleted";
    readonly before?: string;
    readonly after?: string;
  }[];
};
