import { create, toBinary } from "@bufbuild/protobuf";
import { WatchUdmsResponseSchema, type WatchUdmsRequest } from "../../gen/udm/v1/tools_pb.ts";
import { encode, type CodecName, type Encodable, type Encoded } from "../../rpc/encoded.ts";
import { changeMessage, changePieces, isLongChange, messageField } from "./list-changes.ts";
import { longMessage } from "../common/listed-answer.ts";
import { readFilter } from "../search/search-udms.ts";
import type { UdmChange } from "../../../metadata/index.ts";
import type { ChangeFeed, FollowedChange } from "./follow-changes.ts";

/** Each change is encoded once for all who get the whole of it. */
const encoded = new WeakMap<object, Map<CodecName, Encoded>>();

export async function* watchUdms(
  feed: ChangeFeed,
  { after, fromNow, filter: text, withoutLayers, epoch }: WatchUdmsRequest,
  signal: AbortSignal,
): AsyncGenerator<Encodable> {
  const filter = readFilter(text);
  const follow = {
    after: fromNow ? undefined : after,
    epoch: fromNow ? "" : epoch,
    filter,
    filterText: text,
    withoutLayers,
    signal,
  };
  const changes = feed.follow(follow);
  for await (const followed of changes) yield watchAnswer(followed);
}

/** The message of a change that is followed. */
export function watchAnswer({ change, last, epoch }: FollowedChange): Encodable {
  const make = (codec: CodecName): Encoded => {
    const message = create(WatchUdmsResponseSchema, {
      last,
      ...(change === undefined ? { epoch } : { change: changeMessage(change) }),
    });
    return encode(codec, WatchUdmsResponseSchema, message);
  };
  if (change === undefined) return { encode: make };
  const message = (codec: CodecName): Encoded =>
    isLongChange(change) ? longMessage(() => responsePieces(codec, change, last), true) : make(codec);
  return {
    encode(codec) {
      const known = encoded.get(change) ?? new Map<CodecName, Encoded>();
      encoded.set(change, known);
      const found = known.get(codec) ?? message(codec);
      known.set(codec, found);
      return found;
    },
  };
}

function* responsePieces(codec: CodecName, change: UdmChange, last: number): Generator<Buffer, void> {
  if (codec === "proto") {
    yield* messageField(WatchUdmsResponseSchema.field.change.number, changePieces(codec, change));
    yield Buffer.from(toBinary(WatchUdmsResponseSchema, create(WatchUdmsResponseSchema, { last })));
    return;
  }
  yield Buffer.from('{"change":');
  yield* changePieces(codec, change);
  yield Buffer.from(`,"last":${last}}`);
}
