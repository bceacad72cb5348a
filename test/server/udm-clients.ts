// One client for each way to the service, all with the same face.
import { connect as connectHttp2 } from "node:http2";
import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { credentials, Client as GrpcClient, Metadata, type ServiceError } from "@grpc/grpc-js";
import {
  fromBinary,
  fromJson,
  toBinary,
  toJson,
  type DescMethodUnary,
  type DescService,
  type JsonValue,
} from "@bufbuild/protobuf";
import { ConnectError, createClient, type Transport } from "@connectrpc/connect";
import { codeToString } from "@connectrpc/connect/protocol-connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { BadRequestSchema } from "../../src/server/gen/google/rpc/details_pb.ts";
import { UdmService } from "../../src/server/gen/udm/v1/udm_pb.ts";
import { UdmToolsService } from "../../src/server/gen/udm/v1/tools_pb.ts";

/** The services that there are in each scope. */
export const scopedServices: readonly DescService[] = [UdmService, UdmToolsService];

export type Outcome =
  | { readonly code: "ok"; readonly answer: JsonValue }
  | { readonly code: string; readonly message: string; readonly fields: readonly string[] };

export type UdmMethod = keyof typeof UdmService.method;
export type ToolsMethod = keyof typeof UdmToolsService.method;

export interface UdmClient<Method extends string = UdmMethod> {
  /** @param request proto3 JSON, its masks as strings. */
  call(method: Method, request: JsonValue): Promise<Outcome>;
  close(): void;
}

export interface Target {
  readonly port: number;
  /** A certificate to trust; undefined for a server in clear. */
  readonly ca: string | undefined;
  readonly prefix: string;
  /** Without it the service of the eight methods. */
  readonly service?: DescService;
}

export type ClientKind = keyof typeof makers;

const makers = {
  "REST HTTP/1.1": (target: Target) => restHttp1(target),
  "REST HTTP/2": (target: Target) => restHttp2(target),
  "Connect JSON HTTP/1.1": (target: Target) => byConnect(target, "connect", "1.1", false),
  "Connect JSON HTTP/2": (target: Target) => byConnect(target, "connect", "2", false),
  "Connect binary HTTP/1.1": (target: Target) => byConnect(target, "connect", "1.1", true),
  "Connect binary HTTP/2": (target: Target) => byConnect(target, "connect", "2", true),
  "gRPC-Web HTTP/1.1": (target: Target) => byConnect(target, "grpc-web", "1.1", true),
  "gRPC-Web HTTP/2": (target: Target) => byConnect(target, "grpc-web", "2", true),
  "gRPC-Web JSON HTTP/1.1": (target: Target) => byConnect(target, "grpc-web", "1.1", false),
  "gRPC HTTP/1.1": (target: Target) => byConnect(target, "grpc", "1.1", true),
  "gRPC HTTP/2": (target: Target) => byConnect(target, "grpc", "2", true),
  "gRPC JSON HTTP/2": (target: Target) => byConnect(target, "grpc", "2", false),
  "gRPC by grpc-js": (target: Target) => byGrpcJs(target),
};

export const clientKinds = Object.keys(makers) as ClientKind[];

export function createUdmClient<Method extends string = UdmMethod>(
  kind: ClientKind,
  target: Target,
): UdmClient<Method> {
  return makers[kind](target) as UdmClient<Method>;
}

function descOf({ service = UdmService }: Target, method: string): DescMethodUnary {
  return service.method[method] as DescMethodUnary;
}

const nameOf = ({ service = UdmService }: Target): string => service.typeName;

function baseUrl({ port, ca, prefix }: Target): string {
  return `${ca === undefined ? "http" : "https"}://localhost:${port}${prefix}`;
}

function byConnect(target: Target, protocol: string, httpVersion: "1.1" | "2", useBinaryFormat: boolean): UdmClient {
  const nodeOptions = target.ca === undefined ? {} : { ca: target.ca };
  const options = { baseUrl: baseUrl(target), httpVersion, useBinaryFormat, nodeOptions } as const;
  const transports: Record<string, () => Transport> = {
    connect: () => createConnectTransport(options),
    "grpc-web": () => createGrpcWebTransport(options),
    grpc: () => createGrpcTransport(options),
  };
  const client = createClient(target.service ?? UdmService, (transports[protocol] as () => Transport)());
  return {
    async call(method, request) {
      const { input, output } = descOf(target, method);
      try {
        const send = (client as Record<string, unknown>)[method] as (message: unknown) => Promise<never>;
        return { code: "ok", answer: toJson(output, await send(fromJson(input, request))) };
      } catch (error) {
        const refused = ConnectError.from(error);
        return refusal(codeToString(refused.code), refused.rawMessage, refused.findDetails(BadRequestSchema));
      }
    },
    close: () => {},
  };
}

function byGrpcJs(target: Target): UdmClient {
  const { port, ca, prefix } = target;
  const secure = ca === undefined ? credentials.createInsecure() : credentials.createSsl(Buffer.from(ca));
  const client = new GrpcClient(`localhost:${port}`, secure);
  return {
    call(method, request) {
      const { input, output, name } = descOf(target, method);
      const path = `${prefix}/${nameOf(target)}/${name}`;
      return new Promise((resolve) => {
        client.makeUnaryRequest(
          path,
          (message: JsonValue) => Buffer.from(toBinary(input, fromJson(input, message))),
          (bytes: Buffer) => toJson(output, fromBinary(output, bytes)),
          request,
          new Metadata(),
          (error: ServiceError | null, answer?: JsonValue) => {
            if (error === null) resolve({ code: "ok", answer: answer ?? null });
            else {
              const [status = Buffer.alloc(0)] = error.metadata.get("grpc-status-details-bin") as Buffer[];
              resolve(grpcOutcome(codeToString(error.code as number), error.details, status));
            }
          },
        );
      });
    },
    close: () => client.close(),
  };
}

/** What a gRPC answer that is an error says; `status` is its google.rpc.Status. */
export function grpcOutcome(code: string, message: string, status: Buffer): Outcome {
  return refusal(code, message, badRequestsIn(status));
}

/** The BadRequest among the details of a google.rpc.Status, found by its type in the bytes. */
function badRequestsIn(status: Buffer) {
  const type = "type.googleapis.com/google.rpc.BadRequest";
  const at = status.indexOf(type);
  if (at < 0) return [];
  // After the type URL (field 1 of Any): tag 0x12 and the length of the value as a varint.
  let offset = at + type.length + 1;
  let length = 0;
  for (let shift = 0; ; shift += 7) {
    const byte = status[offset++] as number;
    length |= (byte & 127) << shift;
    if (byte < 128) break;
  }
  return [fromBinary(BadRequestSchema, status.subarray(offset, offset + length))];
}

function restHttp1(target: Target): UdmClient {
  const request = target.ca === undefined ? httpRequest : httpsRequest;
  return {
    call: (method, body) =>
      new Promise((resolve, reject) => {
        const sent = request(
          `${baseUrl(target)}/${nameOf(target)}/${descOf(target, method).name}`,
          { method: "POST", headers: { "content-type": "application/json" }, ...(target.ca ? { ca: target.ca } : {}) },
          (response) => {
            const chunks: Buffer[] = [];
            response.on("data", (chunk: Buffer) => chunks.push(chunk));
            response.on("end", () => resolve(restOutcome(response.statusCode, Buffer.concat(chunks).toString())));
          },
        );
        sent.on("error", reject);
        sent.end(JSON.stringify(body));
      }),
    close: () => {},
  };
}

function restHttp2(target: Target): UdmClient {
  const session = connectHttp2(baseUrl({ ...target, prefix: "" }), target.ca === undefined ? {} : { ca: target.ca });
  return {
    call: (method, body) =>
      new Promise((resolve, reject) => {
        const stream = session.request({
          ":method": "POST",
          ":path": `${target.prefix}/${nameOf(target)}/${descOf(target, method).name}`,
          "content-type": "application/json",
        });
        let status: number | undefined;
        const chunks: Buffer[] = [];
        stream.on("response", (headers) => (status = headers[":status"]));
        stream.on("data", (chunk: Buffer) => chunks.push(chunk));
        stream.on("end", () => resolve(restOutcome(status, Buffer.concat(chunks).toString())));
        stream.on("error", reject);
        stream.end(JSON.stringify(body));
      }),
    close: () => session.close(),
  };
}

interface ErrorJson {
  readonly code: string;
  readonly message: string;
  readonly details: readonly { readonly type: string; readonly value: string }[];
}

/** What a REST answer says. */
export function restOutcome(status: number | undefined, text: string): Outcome {
  const body = JSON.parse(text) as JsonValue;
  if (status === 200) return { code: "ok", answer: body };
  const { code, message, details } = body as unknown as ErrorJson;
  const found = details
    .filter(({ type }) => type === BadRequestSchema.typeName)
    .map(({ value }) => fromBinary(BadRequestSchema, Buffer.from(value, "base64")));
  return refusal(code, message, found);
}

function refusal(
  code: string,
  message: string,
  details: readonly { readonly fieldViolations: readonly { readonly field: string }[] }[],
): Outcome {
  return { code, message, fields: details.flatMap(({ fieldViolations }) => fieldViolations.map(({ field }) => field)) };
}
