/** What strangers can make the collector remember. Beyond it the oldest gives way and is counted. */
export interface Limits {
  readonly exporters: number;
  /** Per exporter: observation domains, by source port too where a protocol has them so. */
  readonly domains: number;
  /** Per exporter. */
  readonly templates: number;
  /** Per exporter, in all its templates together. */
  readonly fields: number;
  readonly fieldsPerTemplate: number;
  /** Per exporter: bytes and number of sets that wait for their template. */
  readonly waitingBytes: number;
  readonly waitingSets: number;
  /** Of all exporters together. */
  readonly waitingBytesInAll: number;
}

export const defaultLimits: Limits = {
  exporters: 10_000,
  domains: 256,
  templates: 2048,
  fields: 32_768,
  fieldsPerTemplate: 1024,
  waitingBytes: 256 * 1024,
  waitingSets: 256,
  waitingBytesInAll: 32 * 1024 * 1024,
};

/** What the limits made the collector forget so far. */
export interface Evictions {
  exporters: number;
  domains: number;
  templates: number;
  /** Data sets that waited for their template in vain. */
  waitingSets: number;
}

export function createEvictions(): Evictions {
  return { exporters: 0, domains: 0, templates: 0, waitingSets: 0 };
}
