import { encodeCommunityMessage, wireVersions, type Message } from "./codec/message-codec.ts";
import { readPduRest } from "./codec/pdu-codec.ts";
import type { CommunityCredential } from "./credential.ts";
import type { Requester, RequesterContext } from "./requester.ts";
import { checkSize, maxDatagram, requestPdu, responseTo, type Request } from "./request.ts";
import type { IgnoreReason } from "./session-metrics.ts";
import type { SnmpResponse } from "./session.ts";

/** Requests of versions 1 and 2c. */
export function createCommunityRequester(credential: CommunityCredential, context: RequesterContext): Requester {
  const version = wireVersions[credential.version];
  const community = Buffer.from(credential.community);

  const read = (request: Request, message: Message): SnmpResponse | IgnoreReason => {
    if (message.version !== version) return "version";
    if (message.pdu.type !== "response") return "pdu_type";
    if (Buffer.compare(message.community, community) !== 0) return "credential";
    return responseTo(request, readPduRest(message.pdu));
  };
  return {
    request: (request) =>
      context.run({
        build: (id) => checkSize(encodeCommunityMessage(version, community, requestPdu(request, id)), maxDatagram),
        read: (message) => read(request, message),
      }),
  };
}
