import { Code, ConnectError } from "@connectrpc/connect";
import type { Identities } from "./access/identities.ts";
import { Sessions } from "./access/sessions.ts";
import type { SignIn } from "./access/sign-in.ts";
import type { KeyForm } from "../metadata/index.ts";
import { limitLog, type Component, type Log, type Reporting } from "../base/report/index.ts";
import { Admission, isLoopback, WriteAudit } from "./auth/admission.ts";
import { Authenticator, type BasicCredentials } from "./auth/authenticator.ts";
import { createClientAddress } from "./http/call.ts";
import { defaultApiLimits, type ApiLimits } from "./http/limits.ts";
import { ApiMetrics, CallLog } from "./http/call-log.ts";
import { Listener, type ListenerOptions } from "./http/listener.ts";
import { BodyReader } from "./http/request-body.ts";
import { contractPrefix, Dispatch, Routes, type ApiOffer } from "./routes.ts";
import { Engine } from "./rpc/engine.ts";
import { SignInEndpoints, type Proof } from "./methods/sign-in-endpoints.ts";
import { scopeMethods, toolsMethods, type ScopeDefinitions } from "./methods/tools-methods.ts";
import { ruleMethods, type RuleFileOffer } from "./methods/rule-methods.ts";
import { ToolsContext, type ExplainObject, type ToolsOptions, type ToolsSource } from "./tools/tools-context.ts";
import { ScopedServices, type MetadataServices, type ScopeStores } from "./scoped-services.ts";
import { ChangeFeed, FeedMeters } from "./tools/watch-udms.ts";
import { udmMethods } from "./methods/udm-methods.ts";
import { UdmService, type UdmSource } from "./udm/udm-service.ts";

export interface ApiServerOptions extends ListenerOptions, ApiOffer, ToolsOptions, Reporting {
  /** The credentials for all paths except /livez, /readyz, gRPC's Health/Check and, without `authMetrics`, /metrics. */
  readonly basicAuth?: BasicCredentials;
  /** Further users and tokens, with roles. */
  readonly identities?: Identities | undefined;
  /** Sign-in at an issuer. */
  readonly signIn?: SignIn | undefined;
  /** The lifetime of a browser's session in milliseconds. The default is 8 hours. */
  readonly sessionMs?: number;
  readonly maxBodyBytes: number;
  readonly udm: UdmSource;
  /** The store for the tools service. Without it, there is no such service. */
  readonly tools?: ToolsSource;
  /** The store for the services of names. Without it, there are no such services. */
  readonly names?: ToolsSource | undefined;
  /** The stores for the services in scopes. Without them, there are no scopes. */
  readonly scopes?: ScopeStores | undefined;
  /** The definitions of scopes. Without them, there is no service for scopes. */
  readonly definitions?: ScopeDefinitions;
  /** The rules that add fields to records, and those that watch. If left out, there are no methods for rules. */
  readonly rules?: Readonly<Record<"enrich" | "watch", RuleFileOffer>>;
  /** Further host names, besides `localhost`, that are accepted on a loopback address: those that a proxy in front passes on. */
  readonly allowedHosts?: readonly string[];
  /** Addresses and CIDR prefixes of proxies whose `X-Forwarded-For` names the client. */
  readonly trustedProxies?: readonly string[];
  readonly limits?: Partial<ApiLimits>;
}

/**
 * The port for REST-style JSON, Connect, gRPC-Web and gRPC, with or without TLS, over HTTP/1.1 and HTTP/2.
 *
 * `start` fails when the port cannot be bound or the certificate cannot be read. `stop` lets requests in progress finish.
 */
export class ApiServer implements Component {
  readonly name = "api";
  readonly #options: ApiServerOptions;
  readonly #limits: ApiLimits;
  readonly #log: Log;
  readonly #metrics: ApiMetrics;
  /** True where callers must authenticate. */
  readonly #isGuarded: boolean;
  readonly #calls: CallLog;
  readonly #listener: Listener;

  constructor(options: ApiServerOptions) {
    const { clock, basicAuth, identities, signIn, ip, maxBodyBytes } = options;
    this.#options = options;
    this.#limits = { ...defaultApiLimits, ...boundsOfMemory(options), ...options.limits };
    this.#log = limitLog(options.log, clock);
    this.#metrics = new ApiMetrics(options.metrics);
    this.#isGuarded = basicAuth !== undefined || identities !== undefined || signIn !== undefined;
    const audit = new WriteAudit(options.log, clock);
    this.#calls = new CallLog(
      this.#limits,
      clock,
      this.#metrics,
      createClientAddress(options.trustedProxies ?? []),
      (call) => dispatch.serve(call),
      (call) => audit.ended(call),
    );
    const bulkBodies = new BodyReader(maxBodyBytes, this.#calls, this.#metrics);
    const bodies = new BodyReader(Math.min(longestPlainBody, maxBodyBytes), this.#calls, this.#metrics);
    const sessions = new Sessions(options.sessionMs ?? defaultSessionMs, clock);
    const admission = new Admission(
      this.#isGuarded ? new Authenticator(basicAuth, identities, sessions, clock) : undefined,
      basicAuth !== undefined || identities !== undefined,
      isLoopback(ip) ? (options.allowedHosts ?? []) : undefined,
    );
    const engine = new Engine(bodies, bulkBodies, options.unknownFields, this.#limits.maxMessageBytes, (error) => {
      this.#metrics.failures.add();
      this.#log.error({ error }, "a request failed by a fault of the collector");
    });
    const dispatch = new Dispatch(this.#routes(bodies, sessions), engine, this.#metrics, admission);
    this.#listener = new Listener(options, this.#limits, this.#calls, this.#metrics, options, () =>
      this.#calls.sweep((call) => admission.revoked(call)?.error),
    );
    this.#measureListener();
    if (!this.#isGuarded) return;
    options.metrics.gaugeFrom("netgloss_api_sessions", "Sessions of people who are signed in by a browser.", [], () => [
      [{}, sessions.size],
    ]);
  }

  async start(): Promise<void> {
    await this.#listener.start();
    const { ip, port } = this.#listener.address();
    const tls = this.#options.tls !== undefined;
    this.#log.info({ ip, port, tls, auth: this.#isGuarded }, "API port open");
    if (isLoopback(this.#options.ip) || (this.#isGuarded && tls)) return;
    this.#log.warn({ ip, port }, "the API port is reachable from other hosts without authentication or TLS");
  }

  async stop(): Promise<void> {
    const stopped = this.#listener.stop();
    this.#calls.endWatches(new ConnectError("the collector is stopping", Code.Unavailable));
    await stopped;
  }

  /** Returns the address of the port. @throws Error while it is not open. */
  address(): { ip: string; port: number } {
    return this.#listener.address();
  }

  /** Reads the certificate files again, for new connections. Broken files change nothing. */
  reloadCertificates(): void {
    this.#listener.reloadCertificates();
  }

  #routes(bodies: BodyReader, sessions: Sessions): Routes {
    const options = this.#options;
    const { udm, tools, names, basicAuth, identities, signIn, metrics } = options;
    const meters = new FeedMeters(metrics);
    const toolsOf = (source: ToolsSource, tooling: ToolsOptions, keys?: KeyForm): MetadataServices => {
      const context = new ToolsContext(source, tooling);
      const feed = new ChangeFeed(() => context.store().history, this.#limits, meters, this.#metrics);
      return { services: [toolsMethods(context, feed, keys)], feed };
    };
    const global = tools && toolsOf(tools, options);
    const services = [udmMethods(new UdmService(udm, options.maxBatchSize)), ...(global?.services ?? [])];
    if (names !== undefined) {
      const tooling = { ...options, explainObject: undefined, scopes: undefined, definitions: undefined };
      services.push(udmMethods(new UdmService(names, options.maxBatchSize), "names"));
      services.push(...toolsOf(names, tooling, "names").services);
    }
    if (options.definitions !== undefined) services.push(scopeMethods(options.definitions));
    for (const kind of ["enrich", "watch"] as const)
      if (options.rules !== undefined) services.push(ruleMethods(kind, options.rules[kind]));
    const inScope = (source: ToolsSource, scope: string): MetadataServices => {
      const { explainObject } = options;
      const explain = async (): Promise<ExplainObject> => {
        const asked = await (explainObject as () => Promise<ExplainObject>)();
        return (question) => asked({ ...question, scope });
      };
      const made = toolsOf(source, {
        ...options,
        explainObject: explainObject && explain,
        scopes: undefined,
        scopeName: scope,
        definitions: undefined,
      });
      return { ...made, services: [udmMethods(new UdmService(source, options.maxBatchSize)), ...made.services] };
    };
    const { feed } = global ?? {};
    const proofs: Proof[] = [];
    if (basicAuth !== undefined || identities !== undefined) proofs.push("password");
    if (identities !== undefined) proofs.push("token");
    return new Routes({
      ...options,
      services: [...services, ...(options.services ?? [])],
      bodies,
      limits: this.#limits,
      apiMetrics: this.#metrics,
      feed,
      scoped: new ScopedServices(contractPrefix, options.scopes ?? (() => undefined), inScope),
      sessionParts: {
        sessions,
        proofs,
        hasIssuer: signIn !== undefined,
        hasTls: options.tls !== undefined,
        current: (principal) => (identities === undefined ? principal : identities.current(principal)),
        log: options.log,
      },
      signInAt: signIn && new SignInEndpoints(signIn, sessions, metrics, this.#log),
    });
  }

  #measureListener(): void {
    const { metrics } = this.#options;
    metrics.gaugeFrom("netgloss_api_connections", "Open connections by protocol.", ["protocol"], () =>
      Object.entries(this.#listener.connections()).map(([protocol, count]) => [{ protocol }, count] as const),
    );
    metrics.gaugeFrom(
      "netgloss_api_certificate_expiry_seconds",
      "When the TLS certificate in use ends, seconds since the epoch.",
      [],
      () => {
        const expiry = this.#listener.certificateExpiry();
        return expiry === undefined ? [] : [[{}, expiry]];
      },
    );
  }
}

const defaultSessionMs = 28_800_000;

/** The most bytes of requests other than lists and imports. They are read at once, so longer ones would block the event loop. */
const longestPlainBody = 1_048_576;

/** Returns memory limits within which a single request of any allowed size fits. */
function boundsOfMemory({ maxBodyBytes, maxBatchSize }: ApiServerOptions): Partial<ApiLimits> {
  return {
    maxHeldBytes: Math.max(defaultApiLimits.maxHeldBytes, 2 * maxBodyBytes),
    maxMadeBytes: Math.max(defaultApiLimits.maxMadeBytes, 5 * maxBodyBytes, madeOfEntry * maxBatchSize),
  };
}

/** The bytes of memory of a parsed entry with some tags and metadata. */
const madeOfEntry = 640;
