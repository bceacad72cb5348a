import { connect as connectHttp2, type ClientHttp2Session, type ClientHttp2Stream } from "node:http2";
import { connect, type Socket } from "node:net";
import { cleanUp, type Owner } from "../support/clean-up.ts";

/** A TCP connection whose every received byte is kept. */
export interface RawConnection {
  readonly socket: Socket;
  received(): string;
  /** Resolves with everything received when the other side has closed. */
  readonly closed: Promise<string>;
}

export function openRaw(t: Owner, port: number): RawConnection {
  const socket = connect(port, "127.0.0.1");
  cleanUp(t, () => socket.destroy());
  const chunks: Buffer[] = [];
  const received = (): string => Buffer.concat(chunks).toString("latin1");
  socket.on("data", (chunk: Buffer) => chunks.push(chunk));
  socket.on("error", () => {});
  const closed = new Promise<string>((resolve) => socket.on("close", () => resolve(received())));
  return { socket, received, closed };
}

/** Sends bytes as they are and waits until the other side closes. */
export function exchange(t: Owner, port: number, bytes: string | Uint8Array): Promise<string> {
  const raw = openRaw(t, port);
  raw.socket.write(bytes);
  return raw.closed;
}

export function openHttp2(t: Owner, url: string, ca?: string): ClientHttp2Session {
  const session = connectHttp2(url, ca === undefined ? {} : { ca });
  session.on("error", () => {});
  cleanUp(t, () => session.destroy());
  return session;
}

export interface Http2Answer {
  readonly status: number | undefined;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly trailers: Readonly<Record<string, unknown>> | undefined;
  /** Whether the header ended the stream. */
  readonly endsWithHeaders: boolean;
  readonly body: Buffer;
  readonly resetCode: number | undefined;
}

/** Everything that comes back on a stream, until it is closed. */
export function answerOf(stream: ClientHttp2Stream): Promise<Http2Answer> {
  const chunks: Buffer[] = [];
  let headers: Record<string, unknown> = {};
  let trailers: Record<string, unknown> | undefined;
  let flags = 0;
  stream.on("response", (received, receivedFlags) => {
    headers = { ...received };
    flags = receivedFlags;
  });
  stream.on("trailers", (received) => (trailers = { ...received }));
  stream.on("data", (chunk: Buffer) => chunks.push(chunk));
  stream.on("error", () => {});
  return new Promise((resolve) =>
    stream.on("close", () =>
      resolve({
        status: headers[":status"] as number | undefined,
        headers,
        trailers,
        endsWithHeaders: (flags & 1) === 1,
        body: Buffer.concat(chunks),
        resetCode: stream.rstCode,
      }),
    ),
  );
}

export function postHttp2(
  session: ClientHttp2Session,
  path: string,
  contentType: string,
  body: string | Uint8Array,
  headers: Record<string, string> = {},
): Promise<Http2Answer> {
  const stream = session.request({ ":method": "POST", ":path": path, "content-type": contentType, ...headers });
  stream.end(body);
  return answerOf(stream);
}

/** A message in the envelope of gRPC. */
export function envelope(message: Uint8Array | string, flags = 0): Buffer {
  const bytes = Buffer.from(message as string);
  const head = Buffer.alloc(5);
  head[0] = flags;
  head.writeUInt32BE(bytes.length, 1);
  return Buffer.concat([head, bytes]);
}
