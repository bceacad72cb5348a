// A client that makes one long call at a time and throws the answer away: a message names the way, the method and the bytes.
import { connect } from "node:http2";
import { Agent, request } from "node:http";

export interface LongCall {
  readonly wire: "REST" | "Connect" | "gRPC" | "gRPC-Web";
  readonly port: number;
  readonly path: string;
  /** Of the message, without an envelope. */
  readonly body: Uint8Array;
}

export interface LongCallResult {
  readonly bytes: number;
  readonly ms: number;
}

const windowBytes = 4 * 1024 * 1024;
const types = {
  REST: "application/json",
  Connect: "application/proto",
  gRPC: "application/grpc",
  "gRPC-Web": "application/grpc-web+proto",
} as const;
const agent = new Agent({ keepAlive: true });

process.on("message", (call: LongCall) => {
  const start = performance.now();
  const made = call.wire === "gRPC" ? byHttp2(call) : byHttp1(call);
  void made.then((bytes) => process.send?.({ bytes, ms: performance.now() - start } satisfies LongCallResult));
});
process.once("disconnect", () => process.exit(0));

function byHttp1({ wire, port, path, body: message }: LongCall): Promise<number> {
  const body = wire === "gRPC-Web" ? enveloped(message) : message;
  const headers = { "content-type": types[wire], "content-length": body.length };
  return new Promise((resolve, reject) => {
    const sent = request({ host: "127.0.0.1", port, path, method: "POST", agent, headers }, (response) => {
      let bytes = 0;
      let end = "";
      response.on("data", (chunk: Buffer) => {
        bytes += chunk.length;
        end = chunk.toString("latin1");
      });
      response.on("end", () => {
        const isRefused = response.statusCode !== 200 || (wire === "gRPC-Web" && !end.includes("grpc-status: 0"));
        if (isRefused) reject(new Error(`HTTP ${response.statusCode}: ${end.slice(-300)}`));
        else resolve(bytes);
      });
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

function byHttp2({ port, path, body }: LongCall): Promise<number> {
  return new Promise((resolve, reject) => {
    const session = connect(`http://127.0.0.1:${port}`, { settings: { initialWindowSize: windowBytes } });
    session.on("connect", () => session.setLocalWindowSize(2 * windowBytes));
    session.on("error", reject);
    const stream = session.request({ ":method": "POST", ":path": path, "content-type": types.gRPC, te: "trailers" });
    let bytes = 0;
    let status: unknown;
    stream.on("data", (chunk: Buffer) => (bytes += chunk.length));
    stream.on("response", (header) => (status ??= header["grpc-status"]));
    stream.on("trailers", (trailer) => (status = trailer["grpc-status"]));
    stream.on("error", reject);
    stream.on("end", () => {
      session.close();
      if (status === "0") resolve(bytes);
      else reject(new Error(`gRPC status ${String(status)}`));
    });
    stream.end(enveloped(body));
  });
}

function enveloped(message: Uint8Array): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}
