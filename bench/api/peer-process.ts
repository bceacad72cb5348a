// The peers of the API: a bare HTTP/1.1 server and a grpc-js server, each answering every call with the bytes it is given.
// The message names the kind and the answer; the port is sent back.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Server, ServerCredentials } from "@grpc/grpc-js";

export interface PeerOrder {
  readonly kind: "http" | "grpc";
  readonly answer: Uint8Array;
}

process.once("message", ({ kind, answer }: PeerOrder) => {
  const bytes = Buffer.from(answer);
  const started = kind === "http" ? startHttp(bytes) : startGrpc(bytes);
  void started.then((port) => process.send?.(port));
});
process.once("disconnect", () => process.exit(0));

/** Reads the body, parses it as JSON, answers. */
function startHttp(answer: Buffer): Promise<number> {
  const headers = { "content-type": "application/json", "content-length": answer.length };
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => {
      JSON.parse(Buffer.concat(parts).toString());
      response.writeHead(200, headers).end(answer);
    });
  });
  return new Promise((resolve) => {
    server.listen(0, "127.0.0.1", () => resolve((server.address() as AddressInfo).port));
  });
}

function startGrpc(answer: Buffer): Promise<number> {
  const server = new Server();
  const raw = (bytes: Buffer): Buffer => bytes;
  const method = {
    path: "/udm.v1.UdmService/ListUdms",
    requestStream: false,
    responseStream: false,
    requestSerialize: raw,
    requestDeserialize: raw,
    responseSerialize: raw,
    responseDeserialize: raw,
  };
  server.addService(
    { listUdms: method },
    { listUdms: (_call: unknown, done: (error: null, answer: Buffer) => void) => done(null, answer) },
  );
  return new Promise((resolve, reject) => {
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, port) => {
      if (error === null) resolve(port);
      else reject(error);
    });
  });
}
