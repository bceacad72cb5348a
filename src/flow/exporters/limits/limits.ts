/** What strangers can make the collector remember. Beyond it the oldest gives way and is counted. */
export interface Limits {
  readonly exporters: number;
  /** An exporter that was silent for this time is forgotten. */
  readonly silentMs: number;
  /** Per exporter: observation domains, by source port too where a protocol has them so. */
  readonly domains: number;
  /** Per exporter. */
  readonly templates: number;
  /** Per exporter, in all its templates together. */
  readonly fields: number;
  /** Of all exporters together. */
  readonly fieldsInAll: number;
  readonly fieldsPerTemplate: number;
  /** Per exporter: what its options say of samplers, interfaces, applications, VRFs, in all its domains. */
  readonly options: number;
  /** Of all exporters together. */
  readonly optionsInAll: number;
  /** Per exporter: data sources of sFlow agents, in all its domains. */
  readonly sources: number;
  /** Of all exporters together. */
  readonly sourcesInAll: number;
  /** Per exporter: bytes and number of sets that wait for their template. */
  readonly waitingBytes: number;
  readonly waitingSets: number;
  /** Of all exporters together. */
  readonly waitingBytesInAll: number;
  readonly waitingSetsInAll: number;
  /** Of all exporters together: bytes of everything that is kept of what they said, about. */
  readonly memoryInAll: number;
}

export const defaultLimits: Limits = {
  exporters: 10_000,
  silentMs: 30 * 86_400_000,
  domains: 256,
  templates: 2048,
  fields: 32_768,
  fieldsInAll: 1_048_576,
  fieldsPerTemplate: 1024,
  options: 16_384,
  optionsInAll: 1_048_576,
  sources: 16_384,
  sourcesInAll: 1_048_576,
  waitingBytes: 256 * 1024,
  waitingSets: 256,
  waitingBytesInAll: 32 * 1024 * 1024,
  waitingSetsInAll: 65_536,
  memoryInAll: 256 * 1024 * 1024,
};

/** What was forgotten so far: by the limits, or by age. */
export interface Evictions {
  exporters: number;
  silentExporters: number;
  domains: number;
  templates: number;
  expiredTemplates: number;
  /** Entries of what options say. */
  options: number;
  /** Data sources of sFlow agents. */
  sources: number;
  /** Data sets that waited for their template in vain. */
  waitingSets: number;
  /** Flows that firewalls have reported and that had not ended. */
  firewallFlows: number;
}

export function createEvictions(): Evictions {
  return {
    exporters: 0,
    silentExporters: 0,
    domains: 0,
    templates: 0,
    expiredTemplates: 0,
    options: 0,
    sources: 0,
    waitingSets: 0,
    firewallFlows: 0,
  };
}
