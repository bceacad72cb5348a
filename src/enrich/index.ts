export { mergeEntries } from "./merge-entries.ts";
export { createUdmEnricher, type UdmEnricher, type UdmEnricherOptions } from "./udm-enricher.ts";
