import { create, createFileRegistry, fromBinary, toBinary, type DescFile, type FileRegistry } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import {
  FileDescriptorProtoSchema,
  FileDescriptorSetSchema,
  type DescriptorProto,
  type EnumDescriptorProto,
} from "@bufbuild/protobuf/wkt";
import type { Health } from "../../base/report/index.ts";
import { quote } from "../../base/text/index.ts";
import { apiError } from "../api-error.ts";
import {
  HealthCheckResponse_ServingStatus as Status,
  HealthCheckResponseSchema,
  Health as schema,
  type HealthCheckResponse,
} from "../gen/grpc/health/v1/health_pb.ts";
import { serverStream, unary, type RpcService, bidiStream } from "../rpc/method.ts";
import { descriptorSetBase64 } from "../gen/descriptor-set.gen.ts";
import { ServerReflection as V1, ServerReflectionResponseSchema } from "../gen/grpc/reflection/v1/reflection_pb.ts";
import {
  ServerReflection as V1Alpha,
  ServerReflectionResponseSchema as AlphaResponseSchema,
} from "../gen/grpc/reflection/v1alpha/reflection_pb.ts";

/** The milliseconds between two checks of a watched state. */
const interval = 500;

/**
 * Returns the service grpc.health.v1.Health. Every service is SERVING when the collector is ready.
 *
 * @param services fully qualified names. The empty name, which stands for the whole server, is always known.
 */
export function healthMethods(
  health: Health,
  services: ReadonlySet<string>,
  maxWatchers: number,
  onTooManyWatchers: () => void,
): RpcService {
  let watchers = 0;

  const isKnown = (name: string): boolean => name === "" || services.has(name);
  const state = (): Status => (health.isReady() ? Status.SERVING : Status.NOT_SERVING);
  const response = (status: Status): HealthCheckResponse => create(HealthCheckResponseSchema, { status });

  async function* watch(service: string, signal: AbortSignal): AsyncGenerator<HealthCheckResponse> {
    if (watchers >= maxWatchers) {
      onTooManyWatchers();
      const message = `no more than ${maxWatchers} clients may watch at a time`;
      throw apiError("resource_exhausted", "TOO_MANY_WATCHERS", message);
    }
    watchers++;
    try {
      let last: Status | undefined;
      while (!signal.aborted) {
        const status = isKnown(service) ? state() : Status.SERVICE_UNKNOWN;
        if (status !== last) yield response(status);
        last = status;
        await pause(interval, signal);
      }
      const reason: unknown = signal.reason;
      throw reason instanceof ConnectError ? reason : new ConnectError("the watch has ended", Code.Canceled);
    } finally {
      watchers--;
    }
  }

  return {
    schema,
    area: undefined,
    reach: "nothing",
    methods: [
      unary(schema.method.check, "viewer", ({ service }) => {
        if (isKnown(service)) return response(state());
        throw apiError("not_found", "UNKNOWN_SERVICE", `there is no service ${quote(service)}`);
      }),
      serverStream(schema.method.watch, "viewer", ({ service }, { signal }) => watch(service, signal)),
    ],
  };
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    timer.unref();
    signal.addEventListener("abort", done);
  });
}

/** The collector's schema with its comments, and the files that it imports. */
export class SchemaFiles {
  readonly registry: FileRegistry;
  readonly #files = new Map<string, DescFile>();
  readonly #symbols = new Map<string, DescFile>();
  readonly #bytes = new Map<DescFile, Uint8Array>();

  constructor() {
    const set = fromBinary(FileDescriptorSetSchema, Buffer.from(descriptorSetBase64, "base64"));
    this.registry = createFileRegistry(set);
    for (const file of this.registry.files) {
      this.#files.set(file.proto.name, file);
      for (const symbol of symbolsOf(file)) this.#symbols.set(symbol, file);
    }
  }

  /** Returns a file by its import name. */
  byName(name: string): DescFile | undefined {
    return this.#files.get(name);
  }

  /** Returns the file that declares a message, enum, service, method, field, oneof, enum value or extension. */
  bySymbol(symbol: string): DescFile | undefined {
    return this.#symbols.get(symbol.replace(/^\./, ""));
  }

  /** Returns the file and then all its imports, as serialised FileDescriptorProto messages. */
  withImports(file: DescFile): Uint8Array[] {
    const found = new Set<DescFile>();
    const add = (next: DescFile): void => {
      if (found.has(next)) return;
      found.add(next);
      next.dependencies.forEach(add);
    };
    add(file);
    return [...found].map((each) => this.#serialised(each));
  }

  #serialised(file: DescFile): Uint8Array {
    let done = this.#bytes.get(file);
    if (done === undefined) {
      done = toBinary(FileDescriptorProtoSchema, file.proto);
      this.#bytes.set(file, done);
    }
    return done;
  }
}

function symbolsOf({ proto }: DescFile): string[] {
  const scoped = (scope: string, name: string): string => (scope === "" ? name : `${scope}.${name}`);
  const ofEnum = (scope: string, { name, value }: EnumDescriptorProto): string[] => [
    scoped(scope, name),
    // In protobuf, the values of an enum are its siblings: their names are in the scope around the enum.
    ...value.map((one) => scoped(scope, one.name)),
  ];
  const ofMessage = (scope: string, message: DescriptorProto): string[] => {
    const own = scoped(scope, message.name);
    return [
      own,
      ...[...message.field, ...message.oneofDecl].map(({ name }) => scoped(own, name)),
      ...message.nestedType.flatMap((nested) => ofMessage(own, nested)),
      ...message.enumType.flatMap((nested) => ofEnum(own, nested)),
    ];
  };
  const scope = proto.package;
  return [
    ...proto.messageType.flatMap((message) => ofMessage(scope, message)),
    ...proto.enumType.flatMap((one) => ofEnum(scope, one)),
    ...proto.service.flatMap(({ name, method }) => {
      const own = scoped(scope, name);
      return [own, ...method.map((one) => scoped(own, one.name))];
    }),
  ];
}

/** A question of either version of the protocol. */
interface ReflectionQuestion {
  readonly host: string;
  readonly messageRequest:
    | { case: "fileByFilename" | "fileContainingSymbol" | "allExtensionNumbersOfType" | "listServices"; value: string }
    | { case: "fileContainingExtension"; value: { readonly containingType: string; readonly extensionNumber: number } }
    | { case: undefined; value?: undefined };
}

type Answer =
  | { case: "fileDescriptorResponse"; value: { fileDescriptorProto: Uint8Array[] } }
  | { case: "allExtensionNumbersResponse"; value: { baseTypeName: string; extensionNumber: number[] } }
  | { case: "listServicesResponse"; value: { service: { name: string }[] } }
  | { case: "errorResponse"; value: { errorCode: number; errorMessage: string } };

/** The names of the services of {@link reflectionMethods}. */
export const reflectionVersions = [V1.typeName, V1Alpha.typeName] as const;

/** Returns grpc.reflection in both versions, which answers the questions of a stream in order. The schema has no extensions. */
export function reflectionMethods(files: () => SchemaFiles, services: readonly string[]): readonly RpcService[] {
  const answer = createAnswerer(files, services);
  return [
    {
      schema: V1,
      area: undefined,
      reach: "nothing",
      methods: [
        bidiStream(V1.method.serverReflectionInfo, "viewer", async function* answers(questions) {
          for await (const question of questions) yield create(ServerReflectionResponseSchema, answer(question));
        }),
      ],
    },
    {
      schema: V1Alpha,
      area: undefined,
      reach: "nothing",
      methods: [
        bidiStream(V1Alpha.method.serverReflectionInfo, "viewer", async function* answers(questions) {
          for await (const question of questions) yield create(AlphaResponseSchema, answer(question) as never);
        }),
      ],
    },
  ];
}

function createAnswerer(files: () => SchemaFiles, services: readonly string[]) {
  const file = (found: DescFile | undefined, what: string): Answer => {
    if (found === undefined) return refuse(Code.NotFound, `there is no ${what}`);
    return { case: "fileDescriptorResponse", value: { fileDescriptorProto: files().withImports(found) } };
  };

  const answer = ({ messageRequest: question }: ReflectionQuestion): Answer => {
    switch (question.case) {
      case "fileByFilename":
        return file(files().byName(question.value), `file ${quote(question.value)}`);
      case "fileContainingSymbol":
        return file(files().bySymbol(question.value), `symbol ${quote(question.value)}`);
      case "fileContainingExtension": {
        const { containingType, extensionNumber } = question.value;
        return refuse(Code.NotFound, `there is no extension ${extensionNumber} of ${quote(containingType)}`);
      }
      case "allExtensionNumbersOfType":
        if (files().registry.getMessage(question.value) === undefined) {
          return refuse(Code.NotFound, `there is no message ${quote(question.value)}`);
        }
        return {
          case: "allExtensionNumbersResponse",
          value: { baseTypeName: question.value, extensionNumber: [] },
        };
      case "listServices":
        return { case: "listServicesResponse", value: { service: services.map((name) => ({ name })) } };
      case undefined:
      default:
        return refuse(Code.InvalidArgument, "the request asks nothing");
    }
  };

  return (question: ReflectionQuestion) => ({
    validHost: question.host,
    originalRequest: question as never,
    messageResponse: answer(question),
  });
}

function refuse(code: Code, message: string): Answer {
  return { case: "errorResponse", value: { errorCode: code, errorMessage: message } };
}
