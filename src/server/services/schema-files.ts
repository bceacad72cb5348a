import { createFileRegistry, fromBinary, toBinary, type DescFile, type FileRegistry } from "@bufbuild/protobuf";
import {
  FileDescriptorProtoSchema,
  FileDescriptorSetSchema,
  type DescriptorProto,
  type EnumDescriptorProto,
} from "@bufbuild/protobuf/wkt";
import { descriptorSetBase64 } from "../gen/descriptor-set.gen.ts";

/** Our schema with its comments, and the files that it imports. */
export interface SchemaFiles {
  readonly registry: FileRegistry;
  /** A file by its name as it is imported. */
  byName(name: string): DescFile | undefined;
  /** The file that declares a message, enum, service, method, field, oneof, enum value or extension. */
  bySymbol(symbol: string): DescFile | undefined;
  /** The file and all that it imports, itself first, as serialised FileDescriptorProto messages. */
  withImports(file: DescFile): Uint8Array[];
}

export function readSchemaFiles(): SchemaFiles {
  const set = fromBinary(FileDescriptorSetSchema, Buffer.from(descriptorSetBase64, "base64"));
  const registry = createFileRegistry(set);
  const files = new Map<string, DescFile>();
  const symbols = new Map<string, DescFile>();
  for (const file of registry.files) {
    files.set(file.proto.name, file);
    for (const symbol of symbolsOf(file)) symbols.set(symbol, file);
  }
  const bytes = new Map<DescFile, Uint8Array>();
  const serialised = (file: DescFile): Uint8Array => {
    let done = bytes.get(file);
    if (done === undefined) {
      done = toBinary(FileDescriptorProtoSchema, file.proto);
      bytes.set(file, done);
    }
    return done;
  };
  return {
    registry,
    byName: (name) => files.get(name),
    bySymbol: (symbol) => symbols.get(symbol.replace(/^\./, "")),
    withImports(file) {
      const found = new Set<DescFile>();
      const add = (next: DescFile): void => {
        if (found.has(next)) return;
        found.add(next);
        next.dependencies.forEach(add);
      };
      add(file);
      return [...found].map(serialised);
    },
  };
}

function symbolsOf({ proto }: DescFile): string[] {
  const scoped = (scope: string, name: string): string => (scope === "" ? name : `${scope}.${name}`);
  const ofEnum = (scope: string, { name, value }: EnumDescriptorProto): string[] => [
    scoped(scope, name),
    // By the language, the values of an enum are named as its siblings.
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
