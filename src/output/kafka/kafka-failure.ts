import { reasonOf, DeliveryError, causesOf, connectionFailure } from "../delivery/output-adapter.ts";
import { errorCode } from "../../base/file/index.ts";

/** Broker error codes for a partition or topic that this output reacts to (Kafka protocol, error codes). */
export const kafkaCode = {
  none: 0,
  unknownTopic: 3,
  leaderNotAvailable: 5,
  notLeader: 6,
  requestTimedOut: 7,
  messageTooLarge: 10,
  recordListTooLarge: 18,
  coordinatorLoading: 14,
  notEnoughReplicas: 19,
  notEnoughReplicasAfterAppend: 20,
  topicAuthorizationFailed: 29,
  clusterAuthorizationFailed: 31,
  invalidTimestamp: 32,
  illegalSaslState: 34,
  policyViolation: 44,
  outOfOrderSequence: 45,
  duplicateSequence: 46,
  invalidProducerEpoch: 47,
  invalidProducerIdMapping: 49,
  unknownProducerId: 59,
  invalidRecord: 87,
} as const;

const sentences: Readonly<Record<number, readonly [code: string, text: string]>> = {
  [kafkaCode.unknownTopic]: ["unknown_topic", "there is no topic %s"],
  [kafkaCode.leaderNotAvailable]: ["no_leader", "the topic %s has no leader at present"],
  [kafkaCode.notLeader]: ["no_leader", "the leader of the topic %s has changed"],
  [kafkaCode.requestTimedOut]: ["timeout", "the replicas of the topic %s did not confirm in time"],
  [kafkaCode.notEnoughReplicas]: ["replicas", "the topic %s has fewer replicas in sync than it demands"],
  [kafkaCode.notEnoughReplicasAfterAppend]: ["replicas", "the topic %s has fewer replicas in sync than it demands"],
  [kafkaCode.topicAuthorizationFailed]: ["permission", "the user may not write to the topic %s"],
  [kafkaCode.clusterAuthorizationFailed]: ["permission", "the user may not write to this cluster"],
};

/** Codes of faults that somebody must mend. */
const ofOperator: ReadonlySet<number> = new Set([
  kafkaCode.unknownTopic,
  kafkaCode.topicAuthorizationFailed,
  kafkaCode.clusterAuthorizationFailed,
  kafkaCode.policyViolation,
]);

/** Returns the error for a broker's code for a topic; the records are not at fault. */
export function topicFailure(code: number, topic: string, said: string): DeliveryError {
  const [word, text] = sentences[code] ?? [
    `kafka_${code}`,
    `the broker does not take records of the topic %s: ${said}`,
  ];
  return new DeliveryError(ofOperator.has(code) ? "operator" : "store", word, text.replace("%s", topic));
}

/**
 * Returns the error, with a sentence, for brokers that could not be used. The library wraps the system's errors.
 *
 * @param place the brokers, where the error names none.
 */
export function brokerFailure(error: unknown, place: string): DeliveryError {
  const all = [...causesOf(error)];
  // The library also wraps failures of this output itself, such as reading a token.
  const own = all.find((one) => one instanceof DeliveryError);
  if (own !== undefined) return own;
  const at =
    all.map(({ message }) => /^Connection to (\S+) (?:failed|timed out)/.exec(message)?.[1]).find(Boolean) ?? place;
  const protocol = all.find((one): one is ProtocolFault => "apiCode" in one);
  const denied = all.find((one) => errorCode(one) === "PLT_KFK_AUTHENTICATION");
  if (denied !== undefined) {
    const said = protocol?.serverErrorMessage ?? all.at(-1)?.message ?? denied.message;
    const text = denied.message.includes("suitable")
      ? `${at} does not take this SASL mechanism (${said})`
      : `${at} refuses the credentials (${said})`;
    return new DeliveryError("operator", "credentials", text, { cause: error });
  }
  const system = all.find((one) => errorCode(one) !== one.name && !errorCode(one).startsWith("PLT_KFK_"));
  if (system !== undefined) return connectionFailure(system, at);
  if (protocol !== undefined) {
    const { apiCode, message } = protocol;
    const known = sentences[apiCode];
    if (apiCode === kafkaCode.illegalSaslState) {
      // A broker that refuses a token waits for the client's answer (RFC 7628, 3.2.3); the library goes on with requests.
      const text = `${at} refuses the credentials (a token that is not valid, or has expired)`;
      return new DeliveryError("operator", "credentials", text, { cause: error });
    }
    if (apiCode === kafkaCode.coordinatorLoading) return new DeliveryError("store", "starting", `${at} is starting`);
    const blame = ofOperator.has(apiCode) ? "operator" : "store";
    return new DeliveryError(blame, known?.[0] ?? `kafka_${apiCode}`, `${at} answers: ${message}`, { cause: error });
  }
  const last = all.at(-1);
  if (all.some(({ message }) => / timed out/.test(message))) {
    return new DeliveryError("store", "timeout", `${at} does not answer`, { cause: error });
  }
  if (all.some(({ message }) => message.startsWith("Connection closed"))) {
    return new DeliveryError(
      "store",
      "connection_lost",
      `${at} closed the connection: are TLS and SASL on or off at both ends?`,
      { cause: error },
    );
  }
  return new DeliveryError("store", "unreachable", `${at} cannot be used: ${reasonOf(last)}`, { cause: error });
}

/** Returns the broker's code within an error; undefined: no broker has answered. */
export function kafkaCodeOf(error: unknown): number | undefined {
  return [...causesOf(error)].find((one): one is ProtocolFault => "apiCode" in one)?.apiCode;
}

interface ProtocolFault extends Error {
  readonly apiCode: number;
  readonly serverErrorMessage?: string | null;
}
