import { createFileRegistry, fromBinary, toBinary, type DescFile, type FileRegistry } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
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

function* symbolsOf(file: DescFile): Generator<string> {
  const messages = [...file.messages];
  const enums = [...file.enums];
  for (let message = messages.pop(); message !== undefined; message = messages.pop()) {
    yield message.typeName;
    for (const member of [...message.fields, ...message.oneofs]) yield `${message.typeName}.${member.name}`;
    messages.push(...message.nestedMessages);
    enums.push(...message.nestedEnums);
  }
  for (const { typeName, values } of enums) {
    yield typeName;
    // By the language, the values of an enum are named beside it and not below it.
    const scope = typeName.slice(0, typeName.lastIndexOf(".") + 1);
    for (const value of values) yield `${scope}${value.name}`;
  }
  for (const service of file.services) {
    yield service.typeName;
    for (const method of service.methods) yield `${service.typeName}.${method.name}`;
  }
}
