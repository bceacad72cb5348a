import { constants, type ServerHttp2Stream } from "node:http2";
import type { Socket } from "node:net";
import { ConnectError, Code } from "@connectrpc/connect";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Labels, Metrics, Counter, Clock } from "../../base/report/index.ts";
import { ActiveCall, type CallSurroundings, Http1Call, Turns } from "./active-call.ts";
import { headerOf, type HeaderFields, type RequestHeaders, type Call, type ClientAddress, sendError } from "./call.ts";
import { sourceOf, ClientLimits, type ApiLimits } from "./limits.ts";
import { apiError } from "../api-error.ts";

/** The upper bounds in seconds, ascending. */
const buckets = [0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10];

const seconds = {
  name: "netgloss_api_request_seconds",
  type: "histogram",
  help: "Time from the header of a request to the end of its answer.",
  labelNames: ["method", "transport", "le"],
} as const;

/** All calls of one method by one transport. */
interface Way {
  readonly labels: Labels;
  readonly codes: Map<string, number>;
  /** One count for each of `buckets`, not cumulative, and one for slower calls. */
  readonly counts: number[];
  sum: number;
}

function outcomesOf({ labels, codes }: Way): (readonly [Labels, number])[] {
  return Array.from(codes, ([code, count]) => [Object.assign({ code }, labels), count]);
}

function histogramOf({ labels, counts, sum }: Way): (readonly [Labels, number, string])[] {
  let below = 0;
  const bounded = counts.map((count, i): readonly [Labels, number, string] => {
    below += count;
    return [Object.assign({ le: String(buckets[i] ?? "+Inf") }, labels), below, `${seconds.name}_bucket`];
  });
  return [...bounded, [labels, sum, `${seconds.name}_sum`], [labels, below, `${seconds.name}_count`]];
}

/** The reasons for which a request or connection is refused before a handler sees it. */
const rejections = [
  "auth",
  "body",
  "connections",
  "flood",
  "headers",
  "host",
  "memory",
  "origin",
  "protocol",
  "requests",
  "role",
  "timeout",
  "tls",
  "watchers",
] as const;
export type Rejection = (typeof rejections)[number];

export class ApiMetrics {
  readonly failures: Counter;
  readonly certificateFailures: Counter;
  readonly #rejected: Counter;
  /** Plain numbers, which become series when they are read. Finding a series by its labels would take a tenth of a call's time. */
  readonly #ways = new Map<string, Map<string, Way>>();

  constructor(metrics: Metrics) {
    this.#rejected = metrics.counter(
      "netgloss_api_rejected_total",
      "Requests and connections turned away before a handler saw them, by reason.",
      { reason: rejections },
    );
    metrics.counterFrom(
      "netgloss_api_requests_total",
      "Requests answered, by method, transport and code.",
      ["method", "transport", "code"],
      () => this.#all().flatMap(outcomesOf),
    );
    metrics.addSource(async () => [{ ...seconds, samples: this.#all().flatMap(histogramOf) }]);
    this.failures = metrics.counter("netgloss_api_failures_total", "Requests that failed by a fault of the collector.");
    this.certificateFailures = metrics.counter(
      "netgloss_api_certificate_failures_total",
      "TLS certificates that could not be re-read; the previous one stays in use.",
    );
  }

  reject(reason: Rejection): void {
    this.#rejected.add(1, { reason });
  }

  /** Counts a request and the time from its header to the end of its answer, in seconds. */
  answered(method: string, transport: string, code: string, taken: number): void {
    const way = this.#wayOf(method, transport);
    way.codes.set(code, (way.codes.get(code) ?? 0) + 1);
    let bucket = 0;
    while (taken > (buckets[bucket] ?? Infinity)) bucket++;
    way.counts[bucket] = (way.counts[bucket] as number) + 1;
    way.sum += taken;
  }

  #wayOf(method: string, transport: string): Way {
    let transports = this.#ways.get(method);
    if (transports === undefined) this.#ways.set(method, (transports = new Map()));
    let way = transports.get(transport);
    if (way === undefined) {
      const counts = Array.from({ length: buckets.length + 1 }, () => 0);
      way = { labels: { method, transport }, codes: new Map(), counts, sum: 0 };
      transports.set(transport, way);
    }
    return way;
  }

  #all(): Way[] {
    return Array.from(this.#ways.values(), (transports) => Array.from(transports.values())).flat();
  }
}

/** An HTTP/2 request on its stream. Node's request and response objects would take twice as long. */
class Http2Call extends ActiveCall {
  readonly body: ServerHttp2Stream;
  readonly ownSocket = undefined;
  readonly shared: object;
  readonly #stream: ServerHttp2Stream;
  /** True after the whole answer was passed to Node, which also ends a stream that its peer has reset. */
  #isWhole = false;
  #trailers: HeaderFields | undefined;
  #isStallWatched = false;

  constructor(stream: ServerHttp2Stream, headers: RequestHeaders, surroundings: CallSurroundings) {
    super(headerOf(headers, ":method") ?? "", headerOf(headers, ":path") ?? "", headers, surroundings);
    this.body = stream;
    this.#stream = stream;
    this.shared = stream.session ?? stream;
    this.expectsContinue = headers["expect"] === "100-continue";
    // The listener of `close` reports the failure.
    stream.on("error", ignore);
  }

  hostFault(): undefined {}

  protected peerAddress(): string | undefined {
    return this.#stream.session?.socket.remoteAddress;
  }

  protected connection(): Socket | undefined {
    return this.#stream.session?.socket;
  }

  isGone(): boolean {
    return this.#stream.destroyed || this.#stream.closed;
  }

  isBegun(): boolean {
    return this.#stream.headersSent;
  }

  answer(status: number, fields: HeaderFields, body: Uint8Array | string): void {
    if (this.isAnswered()) return;
    const length = typeof body === "string" ? Buffer.byteLength(body) : body.length;
    // With a content length, the header would not be gRPC's combined header and trailer.
    const isPlain = status !== 204 && status !== 304 && this.wire !== "grpc";
    const header = isPlain
      ? { ...fields, ":status": status, "content-length": String(length) }
      : { ...fields, ":status": status };
    const isHeaderOnly = length === 0 || status === 204 || this.method === "HEAD";
    this.#isWhole = true;
    this.#stream.respond(header, { endStream: isHeaderOnly });
    if (!isHeaderOnly) this.#stream.end(body);
    this.#abandonBody();
  }

  begin(status: number, fields: HeaderFields, { hasTrailers }: { readonly hasTrailers: boolean }): void {
    if (this.isAnswered()) return;
    const stream = this.#stream;
    stream.respond({ ":status": status, ...fields }, { waitForTrailers: hasTrailers });
    if (hasTrailers) {
      stream.on("wantTrailers", () => stream.sendTrailers((this.#trailers ?? {}) as Record<string, string>));
    }
  }

  write(bytes: Uint8Array | string): boolean {
    return this.isGone() || this.#stream.write(bytes);
  }

  end(bytes?: Uint8Array, trailers?: HeaderFields): void {
    if (this.#stream.writableEnded || this.isGone()) return;
    this.#trailers = trailers;
    this.#isWhole = true;
    this.#stream.end(bytes);
    this.#abandonBody();
  }

  drained(): Promise<void> {
    const stream = this.#stream;
    return new Promise((resolve) => {
      const done = (): void => {
        stream.off("drain", done);
        stream.off("close", done);
        resolve();
      };
      stream.on("drain", done);
      stream.on("close", done);
      if (this.isGone()) done();
    });
  }

  breakOff(): void {
    this.#stream.close(constants.NGHTTP2_INTERNAL_ERROR);
  }

  protected sendContinue(): void {
    if (!this.isAnswered()) this.#stream.additionalHeaders({ ":status": 100 });
  }

  onClose(listener: () => void): void {
    this.#stream.on("close", listener);
  }

  hasBrokenOff(): boolean {
    return !this.#isWhole || (this.#stream.rstCode ?? 0) !== constants.NGHTTP2_NO_ERROR;
  }

  isReceiving(): boolean {
    return !this.#stream.readableEnded && !this.#stream.endAfterHeaders;
  }

  cut(): void {
    this.#stream.close(constants.NGHTTP2_CANCEL);
  }

  endWatch(reason: ConnectError): void {
    if (this.isReceiving()) this.cut();
    else this.abort(reason);
  }

  /** Checks the time-outs. A timer for each call is not worth its cost, because most calls end before a sweep. */
  onSweep(): void {
    if (this.#isStallWatched) return;
    this.#isStallWatched = true;
    const stream = this.#stream;
    stream.setTimeout(this.surroundings.stallTimeout, () => {
      if (!stream.writableEnded && stream.writableLength === 0) return;
      this.surroundings.onStall();
      stream.destroy();
    });
  }

  /** Tells a client that is still sending that nobody reads the body. */
  #abandonBody(): void {
    const stream = this.#stream;
    if (!this.isReceiving()) return;
    // Node sends collected bytes before it runs immediates. An earlier reset would replace the header (Node 26).
    const close = (): void => {
      setImmediate(() => {
        if (!stream.closed) stream.close(constants.NGHTTP2_NO_ERROR);
      });
    };
    if (stream.writableFinished) close();
    else stream.once("finish", close);
  }
}

function ignore(): void {}

/** The requests that are being answered: their turns, their time-outs, their memory and their metrics. */
export class CallLog {
  readonly #limits: ApiLimits;
  readonly clients: ClientLimits;
  readonly #clock: Clock;
  readonly #metrics: ApiMetrics;
  readonly #serve: (call: Call) => void;
  readonly #ended: (call: Call) => void;
  readonly #pending = new Set<ActiveCall>();
  readonly #busy = new WeakMap<Socket, number>();
  /** The calls that were asked to end because their caller lost access. */
  readonly #ending = new WeakSet<ActiveCall>();
  #heldBytes = 0;
  #madeBytes = 0;
  readonly #turns: Turns;
  readonly #surroundings: CallSurroundings;

  /**
   * @param serve answers a call.
   * @param ended is called with each call that has ended.
   */
  constructor(
    limits: ApiLimits,
    clock: Clock,
    metrics: ApiMetrics,
    clientAddress: ClientAddress,
    serve: (call: Call) => void,
    ended: (call: Call) => void,
  ) {
    this.#limits = limits;
    this.clients = new ClientLimits(limits, clock);
    this.#clock = clock;
    this.#metrics = metrics;
    this.#serve = serve;
    this.#ended = ended;
    this.#turns = new Turns(clock);
    this.#surroundings = {
      clock,
      clientAddress,
      turns: this.#turns,
      stallTimeout: limits.stallTimeout,
      onStall: () => metrics.reject("timeout"),
    };
  }

  /** Begins an HTTP/1 call and serves it at its turn. The call ends when its response is closed. */
  beginHttp1(request: IncomingMessage, response: ServerResponse, expectsContinue: boolean): void {
    this.#begin(new Http1Call(request, response, expectsContinue, this.#surroundings));
  }

  /** Begins an HTTP/2 call and serves it at its turn. The call ends when its stream is closed. */
  beginHttp2(stream: ServerHttp2Stream, headers: RequestHeaders): void {
    this.#begin(new Http2Call(stream, headers, this.#surroundings));
  }

  isBusy(socket: Socket): boolean {
    return (this.#busy.get(socket) ?? 0) > 0;
  }

  /**
   * Ends calls that take too long, and those whose client has lost access. They get an answer if possible. A call that is
   * already sending ends at the next sweep at the latest.
   *
   * @param revoked returns the reason why a call may not go on.
   */
  sweep(revoked: (call: Call) => ConnectError | undefined): void {
    const now = this.#clock.monotonic();
    for (const call of this.#pending) {
      call.onSweep();
      const reason = revoked(call);
      if (reason !== undefined) {
        call.failure = reason.rawMessage;
        if (this.#ending.has(call) && (call.isEndless || call.isBegun())) call.cut();
        else call.abort(reason);
        this.#ending.add(call);
      }
      const age = now - call.since;
      const isSlow = age > this.#limits.requestTimeout && call.isReceiving();
      if (!isSlow && (age <= this.#limits.lifetime || call.isEndless)) continue;
      this.#metrics.reject("timeout");
      call.cut();
    }
  }

  /** Ends the calls that would never end by themselves, with an answer if possible. */
  endWatches(reason: ConnectError): void {
    for (const call of this.#pending) if (call.isEndless) call.endWatch(reason);
  }

  /** Counts bytes of a body. @returns false where all bodies together exceed the limit. */
  hold(holder: { heldBytes: number }, bytes: number): boolean {
    if (this.#heldBytes + bytes > this.#limits.maxHeldBytes) return false;
    this.#heldBytes += bytes;
    holder.heldBytes += bytes;
    return true;
  }

  /** Stops counting freed bytes before the call ends. */
  release(holder: { heldBytes: number }, bytes: number): void {
    this.#heldBytes -= bytes;
    holder.heldBytes -= bytes;
  }

  /** Counts bytes that were made from a body. @returns false where all requests together exceed the limit. */
  make(maker: { madeBytes: number }, bytes: number): boolean {
    if (this.#madeBytes + bytes > this.#limits.maxMadeBytes) return false;
    this.#madeBytes += bytes;
    maker.madeBytes += bytes;
    return true;
  }

  #begin(call: ActiveCall): void {
    this.#pending.add(call);
    call.client = sourceOf(call.peer);
    const isWithin = this.clients.begin(call.client);
    if (call.ownSocket !== undefined) this.#busy.set(call.ownSocket, (this.#busy.get(call.ownSocket) ?? 0) + 1);
    call.onClose(() => this.#end(call));
    this.#turns.add(call.client, call.shared, () => {
      // Most cancelled calls are cancelled before they are served.
      if (call.isGone()) return;
      if (isWithin) this.#serve(call);
      else this.#refuse(call);
    });
  }

  #refuse(call: Call): void {
    this.#metrics.reject("requests");
    const message = `this client has ${this.#limits.maxClientRequests} requests under way: wait for their answers`;
    sendError(call, apiError("resource_exhausted", "TOO_MANY_REQUESTS", message));
  }

  #end(call: ActiveCall): void {
    if (call.ownSocket !== undefined) this.#busy.set(call.ownSocket, (this.#busy.get(call.ownSocket) ?? 1) - 1);
    if (call.hasBrokenOff()) {
      call.code = "canceled";
      call.abort(new ConnectError("the client has gone", Code.Canceled));
    }
    this.#pending.delete(call);
    this.clients.end(call.client);
    this.#heldBytes -= call.heldBytes;
    this.#madeBytes -= call.madeBytes;
    this.#ended(call);
    this.#metrics.answered(call.label, call.wire, call.code, (this.#clock.monotonic() - call.since) / 1000);
  }
}
