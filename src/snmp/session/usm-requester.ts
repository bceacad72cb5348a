import type { Clock } from "../../report/index.ts";
import { copyBytes } from "./codec/ber-reader.ts";
import { decodeScopedPdu, encodeScopedPdu, encodeUsmMessage, type Message } from "./codec/message-codec.ts";
import type { UsmCredential } from "./credential.ts";
import type { Peer } from "./peer.ts";
import type { Requester, RequesterContext } from "./requester.ts";
import { maxDatagram, requestPdu, type Request } from "./request.ts";
import type { IgnoreReason } from "./session-metrics.ts";
import { SnmpError } from "./snmp-error.ts";
import { createEngine, type Engine } from "./usm/engine.ts";
import type { KeyCache } from "./usm/key-cache.ts";
import { reportError } from "./usm/report.ts";
import { usmExchange, type UsmAnswer, type UsmParty } from "./usm/usm-exchange.ts";

/** Requests in a row without an answer after which the engine is asked for again: another agent may answer now, which drops what is not for it. */
const maxSilent = 2;
/** How often one request may start again because the agent's engine or its time is not what we thought. */
const maxRecoveries = 2;

export interface UsmContext extends RequesterContext {
  readonly peer: Peer;
  readonly clock: Clock;
  readonly keys: KeyCache;
  readonly nextSalt: () => Uint8Array;
  readonly onReport: () => void;
}

/**
 * Requests of version 3 with the user-based security model. The agent's engine is asked for before the first request;
 * a Report that the engine is another one, or that our notion of its time is wrong, corrects that and asks again.
 */
export function createUsmRequester(credential: UsmCredential, context: UsmContext): Requester {
  const { peer, clock, nextSalt } = context;
  const user = Buffer.from(credential.username);
  const contextName = Buffer.from(credential.contextName ?? "");
  let discovery: Promise<Engine> | undefined;
  let party: UsmParty | undefined;

  const discover = async (): Promise<Engine> => {
    const found = await context.run<Engine>({
      build: buildProbe,
      read: (message) => readProbeAnswer(message, clock),
    });
    context.onReport();
    return found;
  };

  /** Requests that start together wait for one discovery. What another session found meanwhile is kept. */
  const discoverOnce = async (): Promise<Engine> => {
    discovery ??= discover().finally(() => {
      discovery = undefined;
    });
    const found = await discovery;
    return (peer.engine ??= found);
  };

  const exchange = async (request: Request, engine: Engine, by: UsmParty): Promise<UsmAnswer> => {
    try {
      const answer = await context.run<UsmAnswer>(usmExchange(request, by));
      peer.silent = 0;
      return answer;
    } catch (error) {
      if (error instanceof SnmpError && error.code === "timeout" && ++peer.silent >= maxSilent) forget(engine);
      throw error;
    }
  };
  const forget = (engine: Engine): void => {
    peer.silent = 0;
    if (peer.engine === engine) peer.engine = undefined;
  };

  return {
    async request(request) {
      for (let recoveries = 0; ; recoveries++) {
        const engine = peer.engine ?? (await discoverOnce());
        if (party?.engine !== engine) {
          party = { user, contextName, keys: context.keys.keysFor(credential, engine.id), engine, nextSalt };
        }
        const answer = await exchange(request, engine, party);
        if ("response" in answer) return answer.response;
        context.onReport();
        const { name } = answer.report;
        // Agents that have become another look for the user first, or at the digest, and report that.
        const isOther = name === "unknownEngineIds" || answer.report.isOfOtherEngine;
        const error = reportError(answer.report);
        // An agent may put the engine of the request into its Report: the next request finds out whose it is.
        if (isOther || error.code === "auth") forget(engine);
        if ((!isOther && name !== "notInTimeWindows") || recoveries === maxRecoveries) throw error;
      }
    },
  };
}

/** A request without user and engine, which the agent answers by naming its engine (RFC 3414 section 4). */
function buildProbe(id: number): Uint8Array {
  const none = new Uint8Array(0);
  const pdu = requestPdu({ type: "get", oids: [], nonRepeaters: 0, maxRepetitions: 0 }, id);
  return encodeUsmMessage({
    id,
    maxSize: maxDatagram,
    isAuthenticated: false,
    isPrivate: false,
    isReportable: true,
    engineId: none,
    boots: 0,
    time: 0,
    user: none,
    macLength: 0,
    privacyParameters: none,
    data: encodeScopedPdu({ contextEngineId: none, contextName: none, pdu }),
  }).bytes;
}

/** The engine of the agent, with the time that it names as a first guess: nothing here is authenticated. */
function readProbeAnswer(message: Message, clock: Clock): Engine | IgnoreReason {
  if (message.version !== 3) return "version";
  if (message.isAuthenticated || message.isPrivate) return "credential";
  if (decodeScopedPdu(message.data).pdu.type !== "report") return "pdu_type";
  const { length } = message.engineId;
  if (length < 5 || length > 32) throw new SnmpError("malformed", `an engine id of ${length} octets`);
  const engine = createEngine(copyBytes(message.engineId), message.maxSize, clock);
  engine.setTime(message.boots, message.time, false);
  return engine;
}
