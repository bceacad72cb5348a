import type { DescField, DescFile, DescMessage, DescMethod } from "@bufbuild/protobuf";

/** Field numbers in the path of a source location (google/protobuf/descriptor.proto). */
const messageInFile = 4;
const serviceInFile = 6;
const fieldInMessage = 2;
const methodInService = 2;

/** The comment above a declaration, without markup; empty when there is none. Top-level messages only. */
export function commentOf(desc: DescMessage | DescField | DescMethod): string {
  switch (desc.kind) {
    case "message":
      return lookUp(desc.file, messagePath(desc));
    case "field":
      return lookUp(desc.parent.file, [...messagePath(desc.parent), fieldInMessage, desc.parent.fields.indexOf(desc)]);
    case "rpc":
    default: {
      const { file, methods } = desc.parent;
      const path = [serviceInFile, file.services.indexOf(desc.parent), methodInService, methods.indexOf(desc)];
      return lookUp(file, path);
    }
  }
}

function messagePath(desc: DescMessage): number[] {
  return [messageInFile, desc.file.messages.indexOf(desc)];
}

function lookUp(file: DescFile, path: readonly number[]): string {
  const locations = file.proto.sourceCodeInfo?.location ?? [];
  const found = locations.find((location) => location.path.join() === path.join());
  return (found?.leadingComments ?? "")
    .split("\n")
    .map((line) => line.trim())
    .join("\n")
    .trim();
}
