import { Code, ConnectError } from "@connectrpc/connect";
import type { Identities } from "./access/identities.ts";
import type { SignIn } from "./access/sign-in.ts";
import type { Select } from "../metadata/index.ts";
import {
  limitLog,
  type Progress,
  type Clock,
  type Component,
  type Health,
  type Log,
  type Metrics,
} from "../base/report/index.ts";
import { createApiMetrics } from "./http/api-metrics.ts";
import { createDispatch } from "./dispatch.ts";
import { createAdmission, createWriteAudit, isLoopback } from "./auth/admission.ts";
import { createAuthenticator, type BasicCredentials, createSessions } from "./auth/authenticator.ts";
import { createClientAddress } from "./http/call.ts";
import { ClientLimits, defaultApiLimits, type ApiLimits } from "./http/limits.ts";
import { createCallLog } from "./http/call-log.ts";
import { createListener, type TlsFiles } from "./http/listener.ts";
import { createBodyReader } from "./http/request-body.ts";
import type { UnknownFields } from "./json/read-message.ts";
import type { StreamPage } from "./pages.ts";
import type { ListView, View } from "./methods/collector-methods.ts";
import { createRoutes } from "./routes.ts";
import { createEngine } from "./rpc/engine.ts";
import type { RpcService } from "./rpc/method.ts";
import { createSignInEndpoints } from "./methods/sign-in-endpoints.ts";
import type { Operation, SourceOperations } from "./methods/operations.ts";
import type { SnmpOperations } from "./methods/snmp-endpoints.ts";
import { toolsMethods } from "./methods/tools-methods.ts";
import { historyOf, type ExplainObject, type ToolsSource } from "./tools/tools-context.ts";
import { createChangeFeed } from "./tools/watch-udms.ts";
import type { ExploreOperations } from "./methods/explore-endpoints.ts";
import { udmMethods } from "./methods/udm-methods.ts";
import { createUdmService, type UdmSource } from "./udm/udm-service.ts";

export interface ApiServerOptions {
  readonly ip: string;
  /** 0 takes any free port. */
  readonly port: number;
  readonly tls?: TlsFiles;
  /** Asked for by everything but /livez, /readyz, gRPC's Health/Check and, without `authMetrics`, /metrics. */
  readonly basicAuth?: BasicCredentials;
  /** Further users and tokens, with roles. */
  readonly identities?: Identities | undefined;
  /** Sign-in at an issuer; without it there are no sessions. */
  readonly signIn?: SignIn | undefined;
  readonly authMetrics: boolean;
  readonly maxBodyBytes: number;
  /** Most elements of a batch. */
  readonly maxBatchSize: number;
  readonly unknownFields: UnknownFields;
  readonly udm: UdmSource;
  /** The same for the service of tools; without it there is none. */
  readonly tools?: ToolsSource;
  /** What records get of addresses, for ExplainAddress; without it there is no answer. */
  readonly explainObject?: () => Promise<ExplainObject>;
  /** Selects the rows of a text to import; without it nothing is imported by an expression. */
  readonly select?: Select;
  /** Where is shown how far an import or a replacement is. */
  readonly progress?: Progress;
  readonly health: Health;
  readonly metrics: Metrics;
  readonly log: Log;
  readonly clock: Clock;
  /** Of the collector, for the OpenAPI document. */
  readonly version: string;
  /** Further JSON documents to GET, by path; of one that is not in the table of methods, OpenAPI says that it is any JSON. */
  readonly views?: ReadonlyMap<string, View | ListView>;
  /** The same whose answers go on. */
  readonly streams?: ReadonlyMap<string, StreamPage>;
  /** Without it the SNMP operations answer 503. */
  readonly snmp?: SnmpOperations;
  /** Without it the operations on sources of metadata answer 501. */
  readonly sources?: SourceOperations;
  /** Further operations, by path. */
  readonly operations?: ReadonlyMap<string, Operation>;
  /** Without it the questions to Explore are answered by 404. */
  readonly explore?: ExploreOperations;
  /** Host names that are answered on a loopback address besides `localhost`: those that a proxy in front passes on. */
  readonly allowedHosts?: readonly string[];
  /** Addresses and CIDR prefixes of proxies whose `X-Forwarded-For` names the client. */
  readonly trustedProxies?: readonly string[];
  readonly limits?: Partial<ApiLimits>;
  /** Where the built pages are; without it `/` answers programs only. */
  readonly pagesFolder?: string;
  /** Further services, served by every protocol. */
  readonly services?: readonly RpcService[];
}

export interface ApiServer extends Component {
  /** Where the port is. @throws Error while it is not open. */
  address(): { ip: string; port: number };
  /** Uses the certificate files as they are for connections from here on; those that are broken change nothing. */
  reloadCertificates(): void;
}

/**
 * The port: REST-style JSON, Connect, gRPC-Web and gRPC, in clear or by TLS, over HTTP/1.1 and HTTP/2.
 *
 * `start` fails when the port cannot be bound or the certificate not be read. `stop` lets what runs finish.
 */
export function createApiServer(options: ApiServerOptions): ApiServer {
  const { clock, health, basicAuth, identities, signIn } = options;
  const limits = { ...defaultApiLimits, ...boundsOfMemory(options), ...options.limits };
  const log = limitLog(options.log, clock);
  const metrics = createApiMetrics(options.metrics);
  const clients = new ClientLimits(limits, clock);
  const calls = createCallLog({
    limits,
    clients,
    clientAddress: createClientAddress(options.trustedProxies ?? []),
    clock,
    metrics,
    serve: (call) => dispatch(call),
    ended: createWriteAudit(options.log, clock),
  });
  const authenticator = createAuthenticator({
    basicAuth,
    identities,
    sessions: signIn && createSessions(signIn),
    clock,
  });
  const bulkBodies = createBodyReader(options.maxBodyBytes, calls, metrics);
  const bodies = createBodyReader(Math.min(longestPlainBody, options.maxBodyBytes), calls, metrics);
  const onFailure = (error: unknown): void => {
    metrics.failures.add();
    log.error({ error }, "a request failed by a fault of the collector");
  };
  const { maxBatchSize, tools, explainObject, select, progress } = options;
  const watchersEnded = options.metrics.counter(
    "netgloss_api_change_watchers_ended_total",
    "Clients that followed changes of the metadata and were ended, because they were too many changes behind, or because changes that clients have not taken fill the memory for them.",
    { reason: ["behind", "bytes"] },
  );
  const feed =
    tools &&
    createChangeFeed(() => historyOf(tools), {
      maxFollowers: limits.maxWatchers,
      maxHeldBytes: limits.maxWatchedBytes,
      onEnd: (reason) => (reason === "many" ? metrics.reject("watchers") : watchersEnded.add(1, { reason })),
    });
  if (feed !== undefined) {
    options.metrics.gaugeFrom(
      "netgloss_api_change_watchers",
      "Clients that follow changes of the metadata.",
      [],
      () => feed.followers,
    );
    options.metrics.gaugeFrom(
      "netgloss_api_change_watchers_bytes",
      "Bytes of changes that are on their way to clients that follow them, about; one that several get is counted once.",
      [],
      () => feed.heldBytes,
    );
  }
  const { routes, unknown, servicePaths } = createRoutes({
    ...options,
    services: [
      udmMethods(createUdmService(options.udm, maxBatchSize)),
      ...(tools === undefined || feed === undefined
        ? []
        : [toolsMethods({ source: tools, maxBatchSize, explainObject, select, progress }, feed)]),
      ...(options.services ?? []),
    ],
    views: options.views ?? new Map(),
    streams: options.streams ?? new Map(),
    operations: options.operations ?? new Map(),
    metricsAge: limits.metricsAge,
    bodies,
    proofs: [
      ...(basicAuth === undefined && identities === undefined ? [] : (["password"] as const)),
      ...(identities === undefined ? [] : (["token"] as const)),
    ],
    signIn: signIn && createSignInEndpoints(signIn, options.metrics, log),
    feed,
    health: {
      health,
      maxWatchers: limits.maxWatchers,
      onTooManyWatchers: () => metrics.reject("watchers"),
    },
  });
  const admission = createAdmission({
    authenticator,
    takesPasswords: basicAuth !== undefined || identities !== undefined,
    allowedHosts: isLoopback(options.ip) ? (options.allowedHosts ?? []) : undefined,
  });
  const engine = createEngine({
    bodies,
    bulkBodies,
    unknownFields: options.unknownFields,
    maxMessageBytes: limits.maxMessageBytes,
    onFailure,
  });
  const dispatch = createDispatch({ routes, unknown, servicePaths, engine, metrics, admission, onFailure });
  const listener = createListener({
    ...options,
    limits,
    clients,
    metrics,
    onRequest: (request, response, expectsContinue) => calls.beginHttp1(request, response, expectsContinue),
    onStream: (stream, headers) => calls.beginHttp2(stream, headers),
    isBusy: (socket) => calls.isBusy(socket),
    onSweep: () => calls.sweep((call) => admission.revoked(call)?.error),
  });

  options.metrics.gaugeFrom("netgloss_api_connections", "Open connections by protocol.", ["protocol"], () =>
    Object.entries(listener.connections()).map(([protocol, count]) => [{ protocol }, count] as const),
  );
  options.metrics.gaugeFrom(
    "netgloss_api_certificate_expiry_seconds",
    "When the TLS certificate in use ends, seconds since the epoch.",
    [],
    () => {
      const expiry = listener.certificateExpiry();
      return expiry === undefined ? [] : [[{}, expiry]];
    },
  );

  return {
    name: "api",
    async start() {
      await listener.start();
      const { ip, port } = listener.address();
      const isOpen = !isLoopback(options.ip) && (authenticator === undefined || options.tls === undefined);
      log.info({ ip, port, tls: options.tls !== undefined, auth: authenticator !== undefined }, "API port open");
      if (isOpen) log.warn({ ip, port }, "the API port is reachable from other hosts without authentication or TLS");
    },
    async stop() {
      const stopping = new ConnectError("the collector is stopping", Code.Unavailable);
      const stopped = listener.stop();
      calls.endWatches(stopping);
      await stopped;
    },
    address: () => listener.address(),
    reloadCertificates: () => listener.reloadCertificates(),
  };
}

/** Requests that are no list and no text to import are short, and read at once: longer ones would hold the event loop. Bytes. */
const longestPlainBody = 1_048_576;

/** Whatever the settings allow one request fits when it is alone. */
function boundsOfMemory({ maxBodyBytes, maxBatchSize }: ApiServerOptions): Partial<ApiLimits> {
  return {
    maxHeldBytes: Math.max(defaultApiLimits.maxHeldBytes, 2 * maxBodyBytes),
    maxMadeBytes: Math.max(defaultApiLimits.maxMadeBytes, 5 * maxBodyBytes, madeOfEntry * maxBatchSize),
  };
}

/** What an entry with some tags and metadata takes when it is read, bytes. */
const madeOfEntry = 640;
