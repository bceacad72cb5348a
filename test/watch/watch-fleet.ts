import { randomUUID } from "node:crypto";
import type { TestContext } from "node:test";
import type { FleetMember, NoteAnswer, NoteRound } from "../../src/fleet/index.ts";
import type { AnswerLimits, WatchSurroundings } from "../../src/watch/index.ts";
import { memoryFileIo, type MemoryFileIo } from "../support/memory-file-io.ts";
import { until } from "../support/until.ts";
import { startWatch, type TestFlow, type WatchRig } from "./watch-rig.ts";

/** The database of a fleet. */
export interface FleetDatabase {
  /** The lease of a member begins. */
  join(member: FleetMember): Promise<void>;
  /** Its lease is over. */
  end(member: FleetMember): Promise<void>;
  exchange(member: FleetMember, round: NoteRound): Promise<NoteAnswer>;
}

interface Member {
  readonly name: string;
  rig: WatchRig;
  session: string;
  /** Dead for so many seconds; undefined: it lives. */
  deadFor?: number;
  /** It does not reach the database. */
  isCut: boolean;
}

export interface MemberOptions {
  readonly memory?: MemoryFileIo;
  readonly answers?: Partial<AnswerLimits>;
  readonly openSpeaker?: WatchSurroundings["openSpeaker"];
}

const leaseSeconds = 3;

/** Collectors of a fleet that watch by the same rules, second by second; one may be killed at any exchange with the database. */
export class WatchedFleet {
  readonly members = new Map<string, Member>();
  readonly #t: TestContext;
  readonly #rules: string;
  readonly #database: FleetDatabase;
  /** Exchanges that were begun. */
  exchanges = 0;
  /** When the member that exchanges is killed: before the database does it, or after. */
  kill: { readonly at: number; readonly is: "before" | "after" } | undefined;

  /** Whether it waits until receivers have taken what is sent. */
  waits = true;

  constructor(t: TestContext, rules: string, database: FleetDatabase) {
    this.#t = t;
    this.#rules = rules;
    this.#database = database;
  }

  /** Starts a collector, or starts it again. */
  async start(name: string, options: MemberOptions = {}): Promise<void> {
    const rig = await startWatch(this.#t, this.#rules, { member: name, memory: memoryFileIo(), ...options });
    const session = randomUUID();
    this.members.set(name, { name, rig, session, isCut: false });
    await this.#database.join({ name, session });
  }

  rig(name: string): WatchRig {
    return this.#member(name).rig;
  }

  /** Kills a collector; its lease goes on for some seconds. */
  die(name: string): void {
    const member = this.#member(name);
    member.deadFor = 0;
    // It sends no more; what it was about to write on its disk does not matter.
    void member.rig.watch.alerting.stop();
  }

  /** Cuts a collector off from the database, or joins it again, under another session when its lease was over. */
  cut(name: string, isCut: boolean): void {
    this.#member(name).isCut = isCut;
  }

  /** Lets seconds pass, in each of which collectors get flows. */
  async pass(seconds: number, flows: Readonly<Record<string, readonly TestFlow[]>> = {}): Promise<void> {
    for (let i = 0; i < seconds; i++) {
      const living = [...this.members.values()].filter(({ deadFor }) => deadFor === undefined);
      for (const { name, rig } of living) {
        rig.take(flows[name] ?? []);
        rig.pass(1);
      }
      for (const member of this.members.values()) await this.#exchange(member);
      if (this.waits) await this.#sent();
      for (const member of this.members.values()) await this.#exchange(member);
      // Speakers and disks have done what they were asked for.
      for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
    }
  }

  async #exchange(member: Member): Promise<void> {
    const { name, session, rig } = member;
    const me = { name, session };
    if (member.deadFor !== undefined) {
      if (member.deadFor++ === 2 * leaseSeconds) await this.#database.end(me);
      return;
    }
    if (member.isCut) {
      rig.watch.goAlone();
      return;
    }
    const nth = ++this.exchanges;
    const killed = this.kill?.at === nth ? this.kill.is : undefined;
    const round = rig.watch.fleetRound(me);
    if (killed === "before") return this.die(name);
    const answer = await this.#database.exchange(me, structuredClone(round));
    if (killed === "after") return this.die(name);
    rig.watch.fleetTake(structuredClone(answer));
  }

  /** Until receivers have taken what living collectors send. */
  async #sent(): Promise<void> {
    const living = [...this.members.values()].filter(({ deadFor }) => deadFor === undefined);
    const waiting = (): boolean =>
      living.some(({ rig }) => rig.watch.status().actions.some((each) => each.waiting > 0));
    if (waiting()) await until("notices are taken", () => !waiting());
  }

  #member(name: string): Member {
    const member = this.members.get(name);
    if (member === undefined) throw new Error(`no collector ${name}`);
    return member;
  }
}
