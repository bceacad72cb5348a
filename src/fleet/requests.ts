import { randomUUID } from "node:crypto";
import type { FleetConnection } from "./fleet-connection.ts";

/** Something that one member has asked another one to do. */
export interface FleetRequest {
  /** Resolves when the other one has begun. Rejects when it does not say so in time, or the database is away. */
  readonly taken: Promise<void>;
  /** Its answer; never rejects, and waits without end. */
  readonly done: Promise<string>;
  /** The answer is not waited for any more. */
  readonly forget: () => void;
}

/** Members ask each other through the database. Nothing is kept there: who is not connected has not been asked. */
export interface FleetRequests {
  /** @param body at most 4 KB. */
  ask(member: string, body: string): FleetRequest;
  /** Answers requests to this member. @returns undefined for one that is not for it. */
  serve(handle: (body: string) => Promise<string> | undefined): void;
}

interface Message {
  readonly fleet: string;
  readonly id: string;
  readonly kind: "ask" | "taken" | "done";
  readonly to: string;
  readonly from: string;
  readonly body: string;
}

const channel = "netgloss_fleet_request";
const takenMs = 5000;
/** A notification has less than 8000 bytes. */
const maxBody = 4000;

export function createFleetRequests(
  connection: FleetConnection,
  fleet: string,
  member: string,
  after: (action: () => void, ms: number) => () => void,
): FleetRequests {
  const asked = new Map<string, { readonly taken: () => void; readonly done: (body: string) => void }>();
  let handle: (body: string) => Promise<string> | undefined = () => undefined;

  const send = async (message: Omit<Message, "fleet" | "from">): Promise<void> => {
    const text = JSON.stringify({
      ...message,
      body: message.body.slice(0, maxBody),
      fleet,
      from: member,
    } satisfies Message);
    await connection.ask((sql) => sql`select pg_notify(${channel}, ${text})`);
  };
  const serveOne = async ({ id, from, body }: Message): Promise<void> => {
    const answer = handle(body);
    if (answer === undefined) return;
    await send({ id, kind: "taken", to: from, body: "" });
    await send({ id, kind: "done", to: from, body: await answer });
  };
  connection.listen(channel, (payload) => {
    const message = JSON.parse(payload) as Message;
    if (message.fleet !== fleet || message.to !== member) return;
    const waiting = asked.get(message.id);
    if (message.kind === "taken") waiting?.taken();
    else if (message.kind === "done") waiting?.done(message.body);
    // Who asked waits for no answer of a member that is cut off.
    else serveOne(message).catch(() => {});
  });

  return {
    ask(to, body) {
      const id = randomUUID();
      let done = (_body: string): void => {};
      const answer = new Promise<string>((resolve) => (done = resolve));
      const taken = new Promise<void>((resolve, reject) => {
        const cancel = after(() => reject(new Error(`the collector ${to} does not answer`)), takenMs);
        const settle = (): void => {
          cancel();
          resolve();
        };
        asked.set(id, {
          taken: settle,
          done(text) {
            asked.delete(id);
            settle();
            done(text);
          },
        });
        send({ id, kind: "ask", to, body }).catch((error: unknown) => {
          cancel();
          reject(error instanceof Error ? error : new Error(String(error)));
        });
      });
      return { taken, done: answer, forget: () => void asked.delete(id) };
    },
    serve: (handler) => void (handle = handler),
  };
}
