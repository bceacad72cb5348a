import {
  createHostNameSource,
  createMmdbSource,
  createResolver,
  createUdmEnricher,
  type AddressSource,
  type MmdbOptions,
} from "../enrich/index.ts";
import type { Enricher } from "../record/index.ts";
import type { Clock, Component, Log, Metrics } from "../report/index.ts";
import type { UdmStore } from "../udm/index.ts";

import type { PlainSettings } from "./settings/index.ts";

/** All that adds to records what is known of what they name. */
export interface Enrichment {
  /** Undefined when the settings ask for nothing. */
  readonly addresses: Enricher | undefined;
  /** In the order in which they start. */
  readonly components: readonly Component[];
  /** Reads again the files that are known by their path alone. */
  reload(): Promise<void>;
}

/** How often files are looked at. */
const filePollMs = 60_000;
const maxQueuedNames = 16_384;
const negativeTtlMs = 3_600_000;

/**
 * Builds the enrichers that the settings ask for; it shares nothing with another call, so that each thread may have its own.
 *
 * @param metadata the store of user-defined metadata; undefined when there is none.
 * @param threads among how many the queries to name servers are divided.
 */
export function createEnrichment(
  settings: PlainSettings,
  metadata: Pick<UdmStore, "watch"> | undefined,
  reporting: { readonly log: Log; readonly metrics: Metrics; readonly clock: Clock },
  threads = 1,
): Enrichment {
  const sources: (AddressSource & Component)[] = [];
  const mmdb = mmdbOptions(settings);
  const databases = mmdb && createMmdbSource({ ...reporting, ...mmdb, pollMs: filePollMs });
  if (databases !== undefined) sources.push(databases);
  if (settings.SVC_PROCESSOR_ENRICH_IPADDR_DNS_ENABLE) {
    sources.push(
      createHostNameSource({
        ...reporting,
        resolver: createResolver(
          settings.SVC_PROCESSOR_ENRICH_IPADDR_DNS_NAMESERVER_IP,
          settings.SVC_PROCESSOR_ENRICH_IPADDR_DNS_NAMESERVER_TIMEOUT,
        ),
        resolvePrivate: settings.SVC_PROCESSOR_ENRICH_IPADDR_DNS_RESOLVE_PRIVATE,
        resolvePublic: settings.SVC_PROCESSOR_ENRICH_IPADDR_DNS_RESOLVE_PUBLIC,
        concurrency: Math.ceil(settings.SVC_PROCESSOR_ENRICH_IPADDR_DNS_CONCURRENCY / threads),
        maxQueued: Math.ceil(maxQueuedNames / threads),
        maxCached: settings.SVC_PROCESSOR_ENRICH_IPADDR_CACHE_SIZE,
        ttlMs: settings.SVC_PROCESSOR_ENRICH_IPADDR_TTL * 1000,
        negativeTtlMs,
      }),
    );
  }
  const locality = settings.SVC_PROCESSOR_ENRICH_LOCALITY_ENABLE;
  const addresses =
    metadata === undefined && sources.length === 0 && !locality
      ? undefined
      : createUdmEnricher({
          ...reporting,
          watch: metadata && ((listener) => metadata.watch(listener)),
          sources,
          locality,
          ttlMs: settings.SVC_PROCESSOR_ENRICH_IPADDR_TTL * 1000,
          invalidate: settings.SVC_PROCESSOR_ENRICH_IPADDR_METADATA_INVALIDATE,
          maxCached: settings.SVC_PROCESSOR_ENRICH_IPADDR_CACHE_SIZE,
        });
  return {
    addresses,
    components: addresses === undefined ? sources : [...sources, addresses],
    async reload() {
      await databases?.reload();
    },
  };
}

function mmdbOptions(settings: PlainSettings): Pick<MmdbOptions, "asn" | "geoip"> | undefined {
  const asn = settings.SVC_PROCESSOR_ENRICH_IPADDR_MAXMIND_ASN_ENABLE
    ? { path: settings.SVC_PROCESSOR_ENRICH_IPADDR_MAXMIND_ASN_PATH }
    : undefined;
  const geoip = settings.SVC_PROCESSOR_ENRICH_IPADDR_MAXMIND_GEOIP_ENABLE
    ? {
        path: settings.SVC_PROCESSOR_ENRICH_IPADDR_MAXMIND_GEOIP_PATH,
        values: settings.SVC_PROCESSOR_ENRICH_IPADDR_MAXMIND_GEOIP_VALUES,
        language: settings.SVC_PROCESSOR_ENRICH_IPADDR_MAXMIND_GEOIP_LANG,
      }
    : undefined;
  return asn === undefined && geoip === undefined ? undefined : { asn, geoip };
}
