import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { ConnectError } from "@connectrpc/connect";
import { quote } from "../../base/text/index.ts";
import { ActiveCall, type CallSurroundings } from "./active-call.ts";
import type { HeaderFields } from "./http-message.ts";

/** `uri-host [":" port]` of RFC 3986 section 3.2; an empty host is valid. */
const hostSyntax = /^(?:\[[0-9A-Fa-f:.]+\]|(?:[A-Za-z0-9._~!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*)(?::[0-9]*)?$/;

/**
 * What is wrong with the Host header of a request of HTTP/1 (RFC 9112 section 3.2), or undefined: HTTP/1.1 needs exactly one, HTTP/1.0
 * at most one, and it must be a host with an optional port.
 */
function hostFault({ headers, rawHeaders, httpVersionMinor }: IncomingMessage): string | undefined {
  const { host } = headers;
  if (host === undefined) return httpVersionMinor >= 1 ? "HTTP/1.1 needs a Host header" : undefined;
  let count = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string;
    if (name.length === 4 && name.toLowerCase() === "host") count++;
  }
  if (count > 1) return `there are ${count} Host headers: send one`;
  return hostSyntax.test(host) ? undefined : `the Host header ${quote(host)} is not a host with an optional port`;
}

/** How long the rest of a body that nobody wants is taken, so that its sender gets to read the answer. */
const lingerTime = 1_000;

/** A request of HTTP/1.0 or 1.1. */
export class Http1Call extends ActiveCall {
  readonly body: IncomingMessage;
  readonly ownSocket: Socket;
  readonly shared: Socket;
  readonly #response: ServerResponse;

  /** @param expectsContinue whether the client waits for `100 Continue` before it sends the body. */
  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    expectsContinue: boolean,
    surroundings: CallSurroundings,
  ) {
    super(request.method ?? "", request.url ?? "", request.headers, surroundings);
    this.body = request;
    this.ownSocket = request.socket;
    this.shared = request.socket;
    this.#response = response;
    this.expectsContinue = expectsContinue;
    // Node keeps the parts of a failed message as errors of the message; nobody else listens.
    request.on("error", ignore);
    response.on("error", ignore);
  }

  hostFault(): string | undefined {
    return hostFault(this.body);
  }

  protected peerAddress(): string | undefined {
    return this.ownSocket.remoteAddress;
  }

  protected connection(): Socket {
    return this.ownSocket;
  }

  isGone(): boolean {
    return this.ownSocket.destroyed || this.#response.destroyed;
  }

  isBegun(): boolean {
    return this.#response.headersSent || this.#response.writableEnded;
  }

  answer(status: number, fields: HeaderFields, body: Uint8Array | string): void {
    if (this.isAnswered()) return;
    const response = this.#response;
    const length = typeof body === "string" ? Buffer.byteLength(body) : body.length;
    const isLingering = this.#hasUnreadBody();
    // A client that was not asked to continue may or may not send its body: the connection is of no further use.
    const closes = isLingering || this.expectsContinue;
    // A list of names and values, which takes less than an object to make and to read.
    const header: (string | readonly string[])[] = [];
    for (const name of Object.keys(fields)) header.push(name, fields[name] as string | readonly string[]);
    if (status !== 204 && status !== 304) header.push("content-length", String(length));
    if (closes) header.push("connection", "close");
    response.writeHead(status, header as string[]);
    if (this.method === "HEAD" || status === 204) response.end();
    else if (isLingering) this.#linger(body);
    // A string leaves in one write with the header, bytes do not.
    else response.end(body);
  }

  begin(status: number, fields: HeaderFields): void {
    if (this.isAnswered()) return;
    const closes = this.expectsContinue || this.#hasUnreadBody();
    this.#response.writeHead(status, { ...fields, ...(closes && { connection: "close" }) });
  }

  write(bytes: Uint8Array | string): boolean {
    return this.isGone() || this.#response.write(bytes);
  }

  end(bytes?: Uint8Array, trailers?: HeaderFields): void {
    const response = this.#response;
    if (response.writableEnded || this.isGone()) return;
    if (trailers !== undefined) response.addTrailers(trailers as Record<string, string>);
    response.end(bytes);
  }

  drained(): Promise<void> {
    const response = this.#response;
    return new Promise((resolve) => {
      const done = (): void => {
        response.off("drain", done);
        response.off("close", done);
        resolve();
      };
      response.on("drain", done);
      response.on("close", done);
      if (this.isGone()) done();
    });
  }

  breakOff(): void {
    this.#response.destroy();
  }

  protected sendContinue(): void {
    this.#response.writeContinue();
  }

  onClose(listener: () => void): void {
    this.#response.on("close", listener);
  }

  hasBrokenOff(): boolean {
    return !this.#response.writableFinished;
  }

  /** HTTP/1 requests have this time-out from Node. */
  isReceiving(): boolean {
    return false;
  }

  cut(): void {
    this.ownSocket.destroy();
  }

  endWatch(reason: ConnectError): void {
    if (this.body.complete) this.abort(reason);
  }

  onSweep(): void {}

  #hasUnreadBody(): boolean {
    if (this.body.complete || this.expectsContinue) return false;
    const { "content-length": length, "transfer-encoding": coding } = this.headers;
    return coding !== undefined || (length !== undefined && length !== "0");
  }

  /** Closing a socket with unread bytes resets it, and the client may never see the answer: takes what comes for a while. */
  #linger(body: Uint8Array | string): void {
    const response = this.#response;
    response.write(body);
    const end = (): void => {
      clearTimeout(timer);
      response.end();
    };
    const timer = setTimeout(end, lingerTime);
    this.body.once("end", end);
    this.ownSocket.once("close", () => clearTimeout(timer));
    this.body.resume();
  }
}

function ignore(): void {}
