import {
  addressTableBytes,
  AppEnds,
  AddressSelection,
  HostNameSource,
  MapFile,
  MmdbSource,
  NameEnricher,
  NetifEnricher,
  OwnNames,
  createPrivateSystems,
  createResolver,
  AddressEnricher,
  SelectedSource,
  UserHostNames,
  joinPortNames,
  knownPortNames,
  readAppEnds,
  readAppIds,
  readHostNames,
  readNetifs,
  readPortNames,
  readRules,
  readSampleRates,
  readSelection,
  registerMapFiles,
  type AddressSource,
  type MmdbOptions,
  type ReadFile,
  type Rule,
  type WatchAddresses,
} from "../../enrich/index.ts";
import type { FlowPipelineOptions } from "../../flow/index.ts";
import type { Enricher, Workspace } from "../../record/index.ts";
import type { Clock, Component, Log, Metrics } from "../../base/report/index.ts";
import type { PlainSettings } from "../settings/index.ts";

/** All enrichers of records. */
export interface Enrichment {
  /** Adds an operator's file of interfaces, before all others that name interfaces. Undefined when there is no such file. */
  readonly netifs: NetifEnricher | undefined;
  /** Adds facts about addresses and numbers, after all others. Undefined when the settings want none. */
  readonly names: Enricher | undefined;
  /** Adds applications by address and port from a file. */
  readonly apps: Enricher | undefined;
  readonly addresses: AddressEnricher | undefined;
  /** Adds names that people gave through the API, after all others except rules. Undefined where there are no such names. */
  readonly ownNames: OwnNames | undefined;
  /** Returns the current rules of a file; undefined when there is no such file. */
  readonly rules: (() => readonly Rule[] | undefined) | undefined;
  /** Returns the current applications of a file by id. */
  readonly applications: FlowPipelineOptions["applications"];
  /** Returns the current sampling rates of a file; undefined when there is no such file. */
  readonly samplingFile: FlowPipelineOptions["samplingFile"];
  /** Components in the order in which they start. */
  readonly components: readonly Component[];
  /** Rereads the files that are found only by their path. */
  reload(): Promise<void>;
}

/** The interval between checks of files for changes, milliseconds. */
const filePollMs = 60_000;
/** The same in minutes. */
const ratesRefresh = 1;
const maxQueuedNames = 16_384;
const negativeTtlMs = 3_600_000;

export interface EnrichmentOptions {
  /** The number of threads that share the queries to name servers. Default: one. */
  readonly threads?: number;
  /** Default true. If false, records of devices are enriched by metadata only. */
  readonly forFlows?: boolean;
  /** The store of names; absent: there is none. */
  readonly names?: { readonly watch: WatchAddresses } | undefined;
  /** Memory for tables, with room for {@link enrichmentBytes}. Absent: they are in memory of their own. */
  readonly workspace?: Workspace;
}

/** Returns the most bytes that the enrichers take of a workspace. */
export function enrichmentBytes(settings: PlainSettings): number {
  return addressTableBytes(settings.SVC_PROCESSOR_ENRICH_IPADDR_CACHE_SIZE);
}

/**
 * Builds the enrichers of the settings. Calls share nothing, so each thread may have its own.
 *
 * @param metadata the store of user-defined metadata; undefined when there is none.
 */
export function createEnrichment(
  settings: PlainSettings,
  metadata: { readonly watch: WatchAddresses } | undefined,
  reporting: { readonly log: Log; readonly metrics: Metrics; readonly clock: Clock },
  { threads = 1, forFlows = true, names: own, workspace }: EnrichmentOptions = {},
): Enrichment {
  const files: MapFile<unknown>[] = [];
  const follow = <T>(
    label: string,
    path: string,
    refreshMinutes: number,
    read: (bytes: Uint8Array) => ReadFile<T>,
    use?: (value: T) => void,
  ): MapFile<T> => {
    const file = new MapFile<T>(label, path, refreshMinutes * 60_000, read, reporting.log, use);
    files.push(file);
    return file;
  };
  const sources: AddressSource[] = [];
  const askers: Component[] = [];
  const mmdb = forFlows ? mmdbOptions(settings) : undefined;
  const placesPath = settings.SVC_PROCESSOR_ENRICH_IPADDR_MAXMIND_GEOIP_INCLEXCL_PATH;
  const places =
    mmdb?.geoip !== undefined && placesPath !== ""
      ? follow(
          "addresses for locations",
          placesPath,
          settings.SVC_PROCESSOR_ENRICH_IPADDR_MAXMIND_GEOIP_INCLEXCL_REFRESH_RATE,
          readAddressSelection,
          () => databases?.selectionChanged(),
        )
      : undefined;
  const databases: MmdbSource | undefined =
    mmdb &&
    new MmdbSource({
      ...reporting,
      asn: mmdb.asn,
      geoip: mmdb.geoip && { ...mmdb.geoip, selection: places && (() => places.current()) },
      pollMs: filePollMs,
    });
  if (databases !== undefined) {
    sources.push(databases);
    askers.push(databases);
  }
  const names = forFlows ? hostNames(settings, reporting, threads, follow) : undefined;
  if (names !== undefined) {
    sources.push(names.source);
    askers.push(...names.components);
  }
  if (forFlows && settings.SVC_PROCESSOR_ENRICH_ASN_PRIVATE_ENABLE) sources.push(createPrivateSystems());
  const apps = forFlows ? appEnds(settings, reporting, follow) : undefined;
  const rulesPath = settings.SVC_PROCESSOR_ENRICH_RULES_PATH;
  const rulesFile =
    forFlows && rulesPath !== ""
      ? follow("rules", rulesPath, settings.SVC_PROCESSOR_ENRICH_RULES_REFRESH_RATE, readRules)
      : undefined;
  const locality = forFlows && settings.SVC_PROCESSOR_ENRICH_LOCALITY_ENABLE;
  const addresses =
    metadata === undefined && sources.length === 0 && !locality && rulesFile === undefined
      ? undefined
      : new AddressEnricher({
          ...reporting,
          watch: metadata && ((listener) => metadata.watch(listener)),
          sources,
          locality,
          internal: settings.SVC_PROCESSOR_ENRICH_LOCALITY_INTERNAL,
          ttlMs: settings.SVC_PROCESSOR_ENRICH_IPADDR_TTL * 1000,
          invalidate: settings.SVC_PROCESSOR_ENRICH_IPADDR_METADATA_INVALIDATE,
          maxCached: settings.SVC_PROCESSOR_ENRICH_IPADDR_CACHE_SIZE,
          workspace,
        });
  const refresh = settings.SVC_PROCESSOR_ENRICH_NETIF_METADATA_REFRESH_RATE;
  const netifFile =
    forFlows && settings.SVC_PROCESSOR_ENRICH_NETIF_METADATA_ENABLE
      ? follow("interfaces", settings.SVC_PROCESSOR_ENRICH_NETIF_METADATA_USERDEF_PATH, refresh, readNetifs)
      : undefined;
  const portPath = settings.SVC_PROCESSOR_ENRICH_PORT_NAME_USERDEF_PATH;
  const hasPorts = forFlows && settings.SVC_PROCESSOR_ENRICH_PORT_NAME_ENABLE;
  const portFile = hasPorts && portPath !== "" ? follow("port names", portPath, refresh, readOwnPorts) : undefined;
  const dscp = forFlows && settings.SVC_PROCESSOR_ENRICH_DSCP_NAME_ENABLE;
  const override = settings.SVC_PROCESSOR_ENRICH_SAMPLERATE_USERDEF_OVERRIDE;
  const ratesFile =
    forFlows && settings.SVC_PROCESSOR_ENRICH_SAMPLERATE_USERDEF_ENABLE
      ? follow("sampling rates", settings.SVC_PROCESSOR_ENRICH_SAMPLERATE_USERDEF_PATH, ratesRefresh, (bytes) => {
          const { value, warnings } = readSampleRates(bytes);
          return { value: { rates: value, override }, warnings };
        })
      : undefined;
  const appFile =
    forFlows && settings.SVC_PROCESSOR_ENRICH_APP_ID_ENABLE
      ? follow(
          "application ids",
          settings.SVC_PROCESSOR_ENRICH_APP_ID_PATH,
          settings.SVC_PROCESSOR_ENRICH_APP_REFRESH_RATE,
          readApplications,
        )
      : undefined;
  const ownNames = forFlows && own !== undefined ? new OwnNames((use) => own.watch(use), reporting.metrics) : undefined;
  const registry = hasPorts ? knownPortNames() : undefined;
  if (files.length > 0) registerMapFiles(reporting.metrics, files);
  return {
    netifs: netifFile && new NetifEnricher(() => netifFile.current(), reporting.metrics),
    names:
      hasPorts || dscp
        ? new NameEnricher(registry && (() => portFile?.current() ?? registry), dscp, reporting.metrics)
        : undefined,
    apps,
    addresses,
    ownNames,
    rules: rulesFile && (() => rulesFile.current()),
    applications: appFile && (() => appFile.current()),
    samplingFile: ratesFile && (() => ratesFile.current()),
    components: [...files, ...askers, ...[addresses, ownNames].filter((part) => part !== undefined)],
    async reload() {
      await databases?.reload();
      for (const file of files) await file.reload();
    },
  };
}

/** Reads applications by id, with the fields of records. */
function readApplications(bytes: Uint8Array): ReadFile<ReadonlyMap<string, readonly (readonly [string, string])[]>> {
  const { value, warnings } = readAppIds(bytes);
  return { value: new Map(Array.from(value, ([id, { fields }]) => [id, fields])), warnings };
}

/** Returns applications by address and port; undefined when the settings do not want them. */
function appEnds(
  settings: PlainSettings,
  { metrics }: { readonly metrics: Metrics },
  follow: Follow,
): AppEnds | undefined {
  if (!settings.SVC_PROCESSOR_ENRICH_APP_IPPORT_ENABLE) return undefined;
  const scopes = {
    private: settings.SVC_PROCESSOR_ENRICH_APP_IPPORT_PRIVATE,
    public: settings.SVC_PROCESSOR_ENRICH_APP_IPPORT_PUBLIC,
  };
  const apps = new AppEnds(scopes, metrics);
  const refresh = settings.SVC_PROCESSOR_ENRICH_APP_REFRESH_RATE;
  const path = settings.SVC_PROCESSOR_ENRICH_APP_IPPORT_PATH;
  follow("applications", path, refresh, readAppEnds, (hosts) => apps.use(hosts));
  return apps;
}

/** Reads the port names of a file, with the well-known names for other ports. */
function readOwnPorts(bytes: Uint8Array): ReturnType<typeof readPortNames> {
  const { value, warnings } = readPortNames(bytes);
  return { value: joinPortNames(value, knownPortNames()), warnings };
}

type Follow = <T>(
  label: string,
  path: string,
  refreshMinutes: number,
  read: (bytes: Uint8Array) => ReadFile<T>,
  use: (value: T) => void,
) => MapFile<T>;

/** Makes the sources of host names: an operator's file, then name servers for the permitted addresses. */
function hostNames(
  settings: PlainSettings,
  reporting: { readonly log: Log; readonly metrics: Metrics; readonly clock: Clock },
  threads: number,
  follow: Follow,
): { readonly source: AddressSource; readonly components: readonly Component[] } | undefined {
  const servers = settings.SVC_PROCESSOR_ENRICH_IPADDR_DNS_ENABLE
    ? new HostNameSource({
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
      })
    : undefined;
  let source: AddressSource | undefined = servers;
  const selectionPath = settings.SVC_PROCESSOR_ENRICH_IPADDR_DNS_INCLEXCL_PATH;
  if (servers !== undefined && selectionPath !== "") {
    const selected = new SelectedSource(servers);
    const refresh = settings.SVC_PROCESSOR_ENRICH_IPADDR_DNS_INCLEXCL_REFRESH_RATE;
    follow("addresses for DNS", selectionPath, refresh, readAddressSelection, (value) => selected.use(value));
    source = selected;
  }
  const namesPath = settings.SVC_PROCESSOR_ENRICH_IPADDR_DNS_USERDEF_PATH;
  if (namesPath !== "") {
    const named = new UserHostNames(source);
    const refresh = settings.SVC_PROCESSOR_ENRICH_IPADDR_DNS_USERDEF_REFRESH_RATE;
    follow("host names", namesPath, refresh, readHostNames, (value) => named.use(value));
    source = named;
  }
  return source && { source, components: servers === undefined ? [] : [servers] };
}

function readAddressSelection(bytes: Uint8Array): ReadFile<AddressSelection> {
  const { value, warnings } = readSelection(bytes);
  return { value: new AddressSelection(value.include, value.exclude), warnings };
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
