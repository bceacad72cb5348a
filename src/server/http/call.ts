import type { Readable } from "node:stream";
import type { ConnectError } from "@connectrpc/connect";
import type { Area, Principal, Role } from "../access/role.ts";
import type { HeaderFields, RequestHeaders } from "./http-message.ts";
import type { Wire } from "./wire.ts";

/** Says whether somebody still waits for an answer, by throwing when not. */
export type Waiting = Pick<AbortSignal, "throwIfAborted">;

/** Who may use a route. */
export interface RouteAccess {
  /** Undefined: anybody, without a proof of who it is. */
  readonly role: Role | undefined;
  /** Whether who asks is found out where anybody may: some get to see more. */
  readonly isPersonal?: boolean;
  /** Undefined: of every area. */
  readonly area: Area | undefined;
}

/** Who waits for an answer. */
export interface Caller extends Waiting {
  /** Address of the client, also behind a trusted proxy; undefined when its connection is gone. */
  readonly peer: string | undefined;
  /** Who asks; undefined where nobody has to prove it. */
  readonly principal?: Principal | undefined;
}

/** One request while it is being answered, by either version of HTTP. */
export interface Call extends Caller {
  readonly method: string;
  readonly headers: RequestHeaders;
  readonly path: string;
  /** The authority of an absolute target or of HTTP/2, which stand before the `Host` header; else that. */
  readonly host: string | undefined;
  readonly query: URLSearchParams;
  readonly wire: Wire;
  /** Aborted when the client has gone, or the server stops; its reason is an error fit to be answered. */
  readonly signal: AbortSignal;
  /** Throws the reason when `signal` is aborted, or an error when the deadline has passed. Costs nothing, where a signal has to be made. */
  throwIfAborted(): void;
  /** For how long from its header on the client waits, milliseconds; Infinity until it is known, and without a bound. */
  timeout: number;
  /** What is left of `timeout`; not below 0. */
  remaining(): number;
  /** Ends the waiting: the first reason stays. */
  abort(reason: ConnectError): void;
  /** Further fields of the header of the answer, that a method may set. */
  extraHeader: Headers | undefined;
  /** The same of its trailer. */
  extraTrailer: Headers | undefined;
  /** For the metrics: which method or page, from a fixed set of names. */
  label: string;
  /** For the metrics: the outcome. */
  code: string;
  /** A stream of messages, which has no bound on its time in all. */
  isEndless: boolean;
  /** Who counts as one client with others: an IPv4 address, or the /64 of an IPv6 address. */
  client: string;
  /** Bytes of the body counted against the memory of all. */
  heldBytes: number;
  /** The same of what was made of it. */
  madeBytes: number;
  principal: Principal | undefined;
  /** What its route asks of the principal; undefined before that is known. */
  access: RouteAccess | undefined;
  /** What is logged of it: only its failure, because its writes have lines of their own; or every result. */
  audit: "nothing" | "failure" | "outcome";
  /** What was refused, for the log. */
  failure: string | undefined;
  /** Parts of the subject of the client's certificate, if the connection has one that was verified: `CN=alice`. */
  clientCertificate(): readonly string[] | undefined;
  /** What is wrong with the Host header of HTTP/1, or undefined. */
  hostFault(): string | undefined;

  /** The body as it was sent. */
  readonly body: Readable;
  /** Sends `100 Continue` to a client that waits for it before it sends the body. */
  continue(): void;

  /** Resolves when it is this call's turn to be worked on for some milliseconds. */
  turn(): Promise<void>;

  /** Whether nobody is there to take an answer. */
  isGone(): boolean;
  /** Whether nobody is there to take an answer, or it has been begun. */
  isAnswered(): boolean;
  /** Whether a part of the answer has been sent. */
  isBegun(): boolean;
  /** Answers as a whole. Does nothing when the call is answered. */
  answer(status: number, fields: HeaderFields, body: Uint8Array | string): void;
  /** Sends the header of an answer that comes in parts. Does nothing when the call is answered. */
  begin(status: number, fields: HeaderFields, form: { readonly hasTrailers: boolean }): void;
  /** @returns whether there is room for more: if not, wait for {@link drained}. */
  write(bytes: Uint8Array | string): boolean;
  /** Ends an answer that was begun. Trailers only where they were announced. */
  end(bytes?: Uint8Array, trailers?: HeaderFields): void;
  /** Resolves when the client has taken what was written, or has gone. */
  drained(): Promise<void>;
  /** Cuts an answer off: the only way to say that it is not whole, once a part of it has been sent. */
  breakOff(): void;
}
