import assert from "node:assert/strict";
import { formatOid, isOid, SnmpError, type Session, type UsmCredential, type VarBind } from "../../src/snmp/index.ts";
import { createRandom, mutate } from "./mutate.ts";
import { communityCredential, createSessionFixture, smallTable, usmUser } from "./snmp-session-fixture.ts";

export interface FuzzOutcome {
  /** Mutated datagrams that were delivered. */
  readonly datagrams: number;
  /** Requests that such a datagram failed, by code. */
  readonly failed: Readonly<Record<string, number>>;
  /**
   * Datagrams ignored, by reason. A damaged datagram that failed or answered a request makes a `duplicate` of the true
   * answer behind it.
   */
  readonly ignored: Readonly<Record<string, number>>;
}

const noAuthUser: UsmCredential = {
  version: "3",
  username: "guest",
  authenticationProtocol: "noauth",
  privacyProtocol: "nopriv",
};
const desUser: UsmCredential = { ...usmUser, username: "des", authenticationProtocol: "md5", privacyProtocol: "des" };

/**
 * Asks an agent whose every answer comes behind a damaged copy of itself, by every kind of request and credential, until
 * this many damaged datagrams were delivered. Fails when anything but a sound response or an SnmpError comes out, or when
 * the session does not work afterwards.
 */
export async function fuzzSession(datagrams: number, seed: number): Promise<FuzzOutcome> {
  const random = createRandom(seed);
  const { open, agent, client, metrics } = createSessionFixture({ users: [usmUser, noAuthUser, desUser] });
  const credentials = [
    { version: "1", community: "public" } as const,
    communityCredential,
    usmUser,
    noAuthUser,
    desUser,
  ];
  const sessions = credentials.map((credential) => open({ credential }));
  for (const session of sessions) await session.get([[1, 3, 6, 1, 2, 1, 1, 5, 0]]);

  let delivered = 0;
  let recorded: Uint8Array = new Uint8Array(0);
  agent.faults.sends = (answer) => {
    delivered++;
    // Now and then a message of another request is damaged, so that ids which ended are met too.
    const mutated = mutate(random() % 16 === 0 && recorded.length > 0 ? recorded : answer, random);
    if (random() % 64 === 0) recorded = answer;
    return [mutated, answer];
  };

  const failed: Record<string, number> = {};
  const isDone = (): boolean => delivered >= datagrams;
  while (!isDone()) {
    const session = sessions[random() % sessions.length] as Session;
    try {
      const { varbinds, errorStatus, errorIndex } = await askAnything(session, random);
      assert.ok(Number.isInteger(errorStatus) && Number.isInteger(errorIndex));
      for (const varbind of varbinds) checkVarBind(varbind);
    } catch (error) {
      if (!(error instanceof SnmpError)) throw error;
      assert.notEqual(error.code, "timeout");
      failed[error.code] = (failed[error.code] ?? 0) + 1;
    }
  }

  agent.faults.sends = undefined;
  for (const session of sessions) {
    const { varbinds } = await session.get([[1, 3, 6, 1, 2, 1, 1, 5, 0]]);
    assert.deepEqual(Buffer.from(varbinds[0]?.value as Uint8Array).toString(), "r1");
  }
  const ignored: Record<string, number> = {};
  for (const [, reason = "", count] of (await metrics.render()).matchAll(
    /ignored_datagrams_total{reason="(\w+)"} (\d+)/g,
  )) {
    ignored[reason] = Number(count);
  }
  client.close();
  return { datagrams: delivered, failed, ignored };
}

function askAnything(session: Session, random: () => number): ReturnType<Session["get"]> {
  const first = random() % smallTable.rows.length;
  const oids = smallTable.rows.slice(first, first + 1 + (random() % 4)).map(({ oid }) => oid);
  const kind = random() % 3;
  if (kind === 0) return session.get(oids);
  if (kind === 1 || session.version === "1") return session.getNext(oids);
  return session.getBulk(oids, random() % 2, random() % 8);
}

/** A varbind keeps the promises of its type, whatever it was decoded from. */
function checkVarBind({ oid, type, value }: VarBind): void {
  assert.ok(isOid(oid) || oid.length <= 2, formatOid(oid));
  switch (type) {
    case "Integer32":
      assert.ok(Number.isInteger(value) && value >= -(2 ** 31) && value < 2 ** 31);
      break;
    case "Counter32":
    case "Gauge32":
    case "TimeTicks":
      assert.ok(Number.isInteger(value) && value >= 0 && value < 2 ** 32);
      break;
    case "Counter64":
      assert.ok(typeof value === "bigint" && value >= 0n && value < 2n ** 64n);
      break;
    case "ObjectIdentifier":
      assert.ok(isOid(value), formatOid(value));
      break;
    case "OctetString":
    case "IpAddress":
    case "Opaque":
    case "Unknown":
      assert.ok(value instanceof Uint8Array);
      break;
    case "Null":
    case "Malformed":
    case "noSuchObject":
    case "noSuchInstance":
    case "endOfMibView":
      assert.equal(value, null);
      break;
  }
}
