import { create } from "@bufbuild/protobuf";
import type { UdmEntry } from "../../udm/index.ts";
import { UdmSchema, type Udm } from "../gen/udm/v1/udm_pb.ts";

/** The entry as a message of the schema. */
export function toUdmMessage(entry: UdmEntry): Udm {
  const message = create(UdmSchema, {
    key: entry.key.text,
    name: entry.name,
    tags: [...entry.tags],
    vlan: entry.vlan,
    internal: entry.internal,
  });
  // Without a prototype `__proto__` is a key like any other.
  const metadata = Object.create(null) as Record<string, string>;
  for (const [key, value] of entry.metadata) metadata[key] = value;
  message.metadata = metadata;
  return message;
}
