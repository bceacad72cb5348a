import { create } from "@bufbuild/protobuf";
import { WatchUdmsResponseSchema, type WatchUdmsRequest } from "../../gen/udm/v1/tools_pb.ts";
import { encode, type CodecName, type Encodable, type Encoded } from "../../rpc/encoded.ts";
import { changeMessage } from "./list-changes.ts";
import { readFilter } from "../search/search-udms.ts";
import type { ChangeFeed, FollowedChange } from "./follow-changes.ts";

/** Each change is encoded once for all who get the whole of it. */
const encoded = new WeakMap<object, Map<CodecName, Encoded>>();

export async function* watchUdms(
  feed: ChangeFeed,
  { after, fromNow, filter: text, withoutLayers }: WatchUdmsRequest,
  signal: AbortSignal,
): AsyncGenerator<Encodable> {
  const filter = readFilter(text);
  const changes = feed.follow({ after: fromNow ? undefined : after, filter, withoutLayers, signal });
  for await (const followed of changes) yield watchAnswer(followed);
}

/** The message of a change that is followed. */
export function watchAnswer({ change, last }: FollowedChange): Encodable {
  const make = (codec: CodecName): Encoded => {
    const message = create(WatchUdmsResponseSchema, { last, ...(change && { change: changeMessage(change) }) });
    return encode(codec, WatchUdmsResponseSchema, message);
  };
  if (change === undefined) return { encode: make };
  return {
    encode(codec) {
      const known = encoded.get(change) ?? new Map<CodecName, Encoded>();
      encoded.set(change, known);
      const found = known.get(codec) ?? make(codec);
      known.set(codec, found);
      return found;
    },
  };
}
