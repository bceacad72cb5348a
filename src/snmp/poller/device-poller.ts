import { type MeasuredDevice, DeviceCounts } from "./device-counts.ts";
import { type Device, type Definitions, deviceCredentials } from "../definitions/definitions.ts";
import type { DevicePlan } from "../discovery/device-plan.ts";
import type { InterfaceFacts, InterfaceView, OctetReading } from "./interface-states.ts";
import { type MissedTurns, placeOf, type Schedule, type Scheduled, PollTimes, NameOrder } from "./poll-times.ts";
import { sysDescrOid, textOf, openSession, refusal, sysUpTimeOid } from "../discovery/identify.ts";
import { getScalars } from "../session/walk.ts";
import { formatOid } from "../session/ber.ts";
import type { Session } from "../session/session.ts";
import { SnmpError } from "../session/snmp-error.ts";
import { type Pulse, Heartbeat, hasSettledSince, DeviceSessions } from "./device-sessions.ts";
import type { PolledType } from "./poll-plan.ts";
import type { Clock, Log } from "../../base/report/index.ts";
import type { SnmpClient } from "../session/snmp-client.ts";
import { type PollerParts, ObjectPolls, isNaming } from "./object-polls.ts";
import { LearntDevice } from "./learnt-device.ts";
import { givesNames } from "./learnt-device.ts";
import { Limiter } from "../limits.ts";
import { Appearances } from "./appearances.ts";

/**
 * Returns the interval between discoveries. It is spread by device over a tenth of the interval, so that devices discovered together do
 * not stay together.
 */
function rediscoveryMs({ id, rediscoverIntervalMs }: Device): number {
  return rediscoverIntervalMs === 0 ? Infinity : rediscoverIntervalMs * (0.95 + placeOf(id) / 10);
}

/** @returns the reason for a new discovery after this pulse; undefined if the plan is still right. @param now as `Clock.now`. */
function reasonOfPulse(pulse: Pulse, device: Device, plan: DevicePlan | undefined, now: number): string | undefined {
  const { change, sysObjectId, uptimeMs } = pulse;
  if (change !== undefined) return change;
  if (plan === undefined) return undefined;
  const known = plan.sysObjectId;
  if (sysObjectId !== undefined && known !== undefined && formatOid(sysObjectId) !== formatOid(known))
    return "another sysObjectID";
  if (now > plan.discoveredAt + rediscoveryMs(device)) return "rediscover_interval";
  return hasSettledSince(now - plan.discoveredAt, uptimeMs ?? 0) ? "it had just started" : undefined;
}

/** Reports whether a polled attribute requires a discovery after each restart. */
function watchesResets(types: ReadonlyMap<string, PolledType>): boolean {
  return [...types.values()].some(({ objects }) =>
    objects.some(({ columns }) => columns.some(({ attribute }) => attribute.rediscover === "OnReset")),
  );
}

/**
 * Returns the reason for a discovery after a restart: the device runs another system, or is another one of the same kind.
 *
 * @returns undefined if neither is so.
 */
async function reasonAfterRestart(by: Session, plan: DevicePlan): Promise<string | undefined> {
  if (plan.sysDescr === undefined) return undefined;
  const { values } = await getScalars(by, [sysDescrOid], 1).catch((error: unknown) => {
    if (error instanceof SnmpError) return { values: [] };
    throw error;
  });
  const now = textOf(values[0]);
  return now === undefined || now === plan.sysDescr ? undefined : "another sysDescr after a restart";
}

/**
 * Sends requests to a silent device at intervals.
 *
 * @param ask sends one request. Never rejects.
 * @param intervalMs called each time, so that the interval may change.
 */
class Prober {
  readonly #schedule: Schedule;
  readonly #clock: Clock;
  readonly #intervalMs: () => number;
  readonly #ask: () => Promise<void>;
  #scheduled: Scheduled | undefined;

  constructor(schedule: Schedule, clock: Clock, intervalMs: () => number, ask: () => Promise<void>) {
    this.#schedule = schedule;
    this.#clock = clock;
    this.#intervalMs = intervalMs;
    this.#ask = ask;
  }

  /** Sends a request after an interval, and again an interval after each answer, until it is stopped. */
  start(): void {
    if (this.#scheduled !== undefined) this.#schedule.cancel(this.#scheduled);
    const item = this.#schedule.at(this.#clock.monotonic() + this.#intervalMs(), () => void goOn());
    const goOn = async (): Promise<void> => {
      await this.#ask();
      // It may have been stopped or started again during the request.
      if (this.#scheduled === item) this.start();
    };
    this.#scheduled = item;
  }

  get isActive(): boolean {
    return this.#scheduled !== undefined;
  }

  /** Returns the time of the next poll by the monotonic clock; undefined if it is not active. */
  get due(): number | undefined {
    return this.#scheduled?.due;
  }

  stop(): void {
    if (this.#scheduled !== undefined) this.#schedule.cancel(this.#scheduled);
    this.#scheduled = undefined;
  }
}

/** Probes a silent device by one request, with one credential after the other, because it may come back with another one. */
class AccessProbe {
  readonly #client: SnmpClient;
  #next = 0;

  constructor(client: SnmpClient) {
    this.#client = client;
  }

  /** Sets the credential for the next request. */
  begin(credential: number): void {
    this.#next = credential;
  }

  /** @returns the credential that was accepted, or the reason why there was no answer. */
  async ask(device: Device): Promise<{ readonly credential: number; readonly failure: string | undefined }> {
    const credential = this.#next;
    this.#next = (credential + 1) % Math.max(1, deviceCredentials(device).length);
    let session: Session | undefined;
    try {
      session = openSession(this.#client, device, credential, 0);
      const { errorStatus } = await getScalars(session, [sysUpTimeOid], 1);
      return { credential, failure: errorStatus === 0 ? undefined : refusal(errorStatus).message };
    } catch (error) {
      if (!(error instanceof SnmpError)) throw error;
      return { credential, failure: error.message };
    } finally {
      session?.close();
    }
  }
}

/** The current work of a device. */
class RunningPolls {
  readonly #deviceId: string;
  readonly #log: Log;
  readonly #note: (message: string) => void;
  readonly #running = new Set<Promise<void>>();

  constructor(deviceId: string, log: Log, note: (message: string) => void) {
    this.#deviceId = deviceId;
    this.#log = log;
    this.#note = note;
  }

  /** @returns a promise that never rejects: a fault of the collector is noted and logged. */
  track(work: Promise<void>): Promise<void> {
    const tracked = work
      .catch((error: unknown) => {
        this.#note(String(error));
        this.#log.error({ device: this.#deviceId, error }, "a poll failed by a fault of the collector");
      })
      .finally(() => this.#running.delete(tracked));
    this.#running.add(tracked);
    return tracked;
  }

  /** Resolves when all current work has ended. */
  settled(): Promise<unknown> {
    return Promise.allSettled(this.#running);
  }
}

/** Polls one device: each object type at its interval. While the device does not answer, it sends one request an interval. */
export class DevicePoller implements MeasuredDevice {
  readonly #parts: PollerParts;
  readonly #clock: Clock;
  readonly #log: Log;
  #device: Device;
  #definitions: Definitions;
  #plan: DevicePlan | undefined;
  #state: DevicePoller["state"] = "undiscovered";
  #credential = 0;
  #hostName: string | undefined;
  #lastPoll: number | undefined;
  #lastError: DevicePoller["lastError"];
  #isStopped = false;
  #restarts = 0;
  /** True if interfaces may have other numbers than when their names were read. */
  #areNamesOld = false;
  readonly counts = new DeviceCounts();
  readonly #running: RunningPolls;
  readonly #learnt: LearntDevice;
  readonly #nameOrder = new NameOrder();
  readonly #limiter: Limiter;
  readonly #sessions: DeviceSessions;
  readonly #accessProbe: AccessProbe;
  readonly #appearances: Appearances;
  readonly #heartbeat: Heartbeat;
  readonly #prober: Prober;
  readonly #objectPolls: ObjectPolls;
  readonly #times: PollTimes;

  constructor(parts: PollerParts, firstDevice: Device, first: Definitions) {
    this.#parts = parts;
    const { client, schedule, clock, log } = parts;
    this.#clock = clock;
    this.#log = log;
    this.#device = firstDevice;
    this.#definitions = first;
    this.#running = new RunningPolls(firstDevice.id, log, (message) => this.#note(message));
    this.#learnt = new LearntDevice(parts);
    this.#limiter = new Limiter(() => this.#device.maxConcurrentPolls);
    this.#sessions = new DeviceSessions(client, () => this.#running.settled());
    this.#accessProbe = new AccessProbe(client);
    this.#appearances = new Appearances(clock, this.counts, (name) =>
      parts.rediscover(this.#device.id, `it has ${name} now`),
    );
    this.#heartbeat = new Heartbeat(
      clock,
      (pulse) => this.#onPulse(pulse),
      () => this.#device.maxOids,
    );
    this.#prober = new Prober(
      schedule,
      clock,
      () => this.#device.pollIntervalMs,
      () => this.#running.track(this.#probe()),
    );
    this.#objectPolls = new ObjectPolls({
      shared: parts,
      now: () => ({
        device: this.#device,
        definitions: this.#definitions,
        hostName: this.#hostName ?? this.#plan?.sysName ?? this.#device.name,
        facts: this.#plan?.facts ?? new Map(),
        restarts: this.#restarts,
        isPolled: !this.#isStopped && this.#state === "up",
        isStopped: this.#isStopped,
      }),
      learnt: this.#learnt,
      sessions: this.#sessions,
      limiter: this.#limiter,
      counts: this.counts,
      onSilence: () => this.#isAlive(this.#sessions.single),
      confirm: () => this.#isAlive(this.#sessions.polling),
      onNames: () => parts.learnt(this),
      note: (message) => this.#note(message),
    });
    this.#times = new PollTimes({
      schedule,
      clock,
      compiler: parts.compiler,
      now: () => ({ device: this.#device, definitions: this.#definitions, plan: this.#plan }),
      poll: (type, lagMs) => this.#running.track(this.#pollType(type, lagMs)),
      onMissed: (polls) => void (this.counts.skipped += polls),
    });
    // The sessions are open from the start, so that the requests of a discovery are counted with the device.
    this.#openSessions();
  }

  /**
   * Replaces the plan and polls by the new one.
   *
   * @param missed for a plan of an earlier run, which may have missed the last poll of the device.
   */
  follow(next: DevicePlan, missed?: MissedTurns): void {
    if (this.#isStopped) return;
    this.#plan = next;
    this.#times.changed();
    this.#state = "up";
    if (
      this.#credential !== next.credential ||
      this.#sessions.polling === undefined ||
      !this.#sessions.suit(this.#device)
    ) {
      this.#credential = next.credential;
      this.#openSessions();
    }
    this.#hostName = next.sysName;
    this.#heartbeat.forget(next.marks);
    if (next.problem !== undefined) this.#note(next.problem);
    const areRowNamesGone = this.#learnt.discovered(next);
    this.#appearances.discovered(next, this.#definitions, this.#device);
    this.#prober.stop();
    this.#times.plan(missed);
    // Objects that name the rows of other tables are polled only once an hour or less.
    if (areRowNamesGone) this.#times.pollAll();
    this.#parts.learnt(this);
  }

  get id(): string {
    return this.#device.id;
  }

  get device(): Device {
    return this.#device;
  }

  get plan(): DevicePlan | undefined {
    return this.#plan;
  }

  get state(): "undiscovered" | "up" | "down" {
    return this.#state;
  }

  get isUp(): boolean {
    return this.#state === "up";
  }

  get interfaces(): ReadonlyMap<number, string> {
    return this.#learnt.names.interfaces;
  }

  /** Returns the facts about interfaces for flows, by ifIndex. */
  interfaceFacts(): ReadonlyMap<number, InterfaceFacts> {
    return this.#learnt.interfaceFacts(this.#definitions.enums);
  }

  get addresses(): readonly string[] {
    return this.#learnt.names.addresses;
  }

  /** Returns the name of a port by its lldpLocPortNum; undefined if it is unknown. */
  lldpPort(port: number): string | undefined {
    return this.#learnt.lldpPort(port);
  }

  /** Returns the interfaces with their states and rates. */
  interfaceViews(): readonly InterfaceView[] {
    return this.#learnt.interfaceViews();
  }

  /** Returns the last readings of the counters of bytes, by ifIndex. */
  octets(): ReadonlyMap<number, readonly OctetReading[]> {
    return this.#learnt.octets();
  }

  get lastPoll(): number | undefined {
    return this.#lastPoll;
  }

  get lastError(): { readonly at: number; readonly message: string } | undefined {
    return this.#lastError;
  }

  get requests(): DeviceSessions["counts"] {
    return this.#sessions.counts;
  }

  get valueFaults(): DeviceSessions["valueFaults"] {
    return this.#sessions.valueFaults;
  }

  /** Returns the time in ms since the epoch. */
  nextPoll(): number | undefined {
    const due = this.#times.nextDue() ?? this.#prober.due;
    return due === undefined ? undefined : this.#clock.now() + due - this.#clock.monotonic();
  }

  /** Handles a failed discovery: the current plan stays. Without a plan, the next try is after an interval. */
  discoveryFailed(message: string): void {
    this.#note(message);
    if (this.#plan === undefined && !this.#prober.isActive && !this.#isStopped) this.#prober.start();
  }

  /** Uses other definitions from the next poll on. */
  update(nextDevice: Device, nextDefinitions: Definitions): void {
    this.#device = nextDevice;
    this.#definitions = nextDefinitions;
    this.#times.changed();
    this.#limiter.changed();
    // The discovery tries new credentials first; until then the known ones stay in use.
    if (this.#sessions.haveAccessOf(this.#device) && !this.#sessions.suit(this.#device)) this.#openSessions();
    if (this.#state === "up") this.#times.plan();
  }

  /** Polls the tables of interfaces now, in addition to their times, at most once in 10 s. */
  pollInterfaces(): void {
    if (!this.#isStopped) this.#times.pollInterfaces();
  }

  /** Stops polling. It waits for current work, or cancels it at once. */
  async stop(isAtOnce: boolean = false): Promise<void> {
    this.#isStopped = true;
    this.#learnt.end();
    if (isAtOnce) this.#sessions.close();
    this.#times.clear();
    this.#prober.stop();
    await this.#running.settled();
    this.#sessions.close();
  }

  #note(message: string): void {
    this.#lastError = { at: this.#clock.now(), message };
  }

  #openSessions(): void {
    const failure = this.#sessions.open(this.#device, this.#credential);
    if (failure !== undefined) this.#note(failure);
  }

  async #pollType(name: string, lagMs: number): Promise<void> {
    const type = this.#times.types().get(name);
    if (type === undefined || this.#isStopped) return;
    const start = this.#clock.monotonic();
    const objects = this.#objectPolls.readable(type.objects);
    const turn = this.#nameOrder.begin(start - lagMs, objects.filter(isNaming).length);
    this.counts.polls++;
    this.counts.lag = lagMs / 1000;
    this.#lastPoll = this.#clock.now();
    try {
      if (!(await this.#isAlive(this.#sessions.polling))) return;
      if (this.#areNamesOld && objects.some(givesNames)) {
        this.#areNamesOld = false;
        this.#learnt.forgetInterfaces();
      }
      await this.#objectPolls.run(objects, turn, type.intervalMs);
      this.counts.duration = (this.#clock.monotonic() - start) / 1000;
      this.#lookAround();
    } finally {
      turn.end();
    }
  }

  /** Looks for new objects. The next poll does not wait for it. */
  #lookAround(): void {
    const by = this.#sessions.single;
    if (by !== undefined && !this.#isStopped && this.#state === "up" && this.#appearances.isDue(this.#device))
      void this.#running.track(this.#appearances.look(this.#device, by));
  }

  async #isAlive(by: Session | undefined): Promise<boolean> {
    try {
      if (by === undefined) throw new SnmpError("invalid", this.#lastError?.message ?? "there is no session");
      await this.#heartbeat.beat(by);
      return !this.#isStopped && this.#state === "up";
    } catch (error) {
      if (!(error instanceof SnmpError)) throw error;
      // Answers to credentials that are no longer used do not count for the current ones.
      const isCurrent = by === this.#sessions.polling || by === this.#sessions.single;
      if (error.code !== "closed" && isCurrent) this.#goDown(error.message);
      return false;
    }
  }

  #onPulse(pulse: Pulse): void {
    if (this.#isStopped) return;
    this.#hostName = pulse.sysName ?? this.#hostName;
    if (pulse.change !== undefined) this.#areNamesOld = true;
    this.#rediscover(reasonOfPulse(pulse, this.#device, this.#plan, this.#clock.now()));
    if (pulse.isRestarted) this.#hearRestart();
  }

  #hearRestart(): void {
    this.#restarts++;
    this.counts.restarts++;
    this.#learnt.restarted();
    this.#appearances.restarted();
    this.#log.info({ device: this.#device.id }, "an SNMP device has restarted");
    const by = this.#sessions.single;
    if (watchesResets(this.#times.types())) this.#rediscover("restart");
    else if (this.#plan !== undefined && by !== undefined)
      void this.#running.track(reasonAfterRestart(by, this.#plan).then((reason) => this.#rediscover(reason)));
  }

  #rediscover(reason: string | undefined): void {
    if (reason !== undefined) this.#parts.rediscover(this.#device.id, reason);
  }

  #goDown(message: string): void {
    this.#note(message);
    if (this.#isStopped || (this.#state !== "up" && this.#prober.isActive)) return;
    if (this.#state === "up")
      this.#log.warn({ device: this.#device.id, error: message }, "an SNMP device does not answer");
    this.#state = this.#plan === undefined ? "undiscovered" : "down";
    this.#times.clear();
    this.#accessProbe.begin(this.#credential);
    this.#prober.start();
  }

  async #probe(): Promise<void> {
    this.counts.probes++;
    const { credential: by, failure } = await this.#accessProbe.ask(this.#device);
    if (failure !== undefined) this.#note(failure);
    if (this.#isStopped || failure !== undefined || !this.#prober.isActive) return;
    this.#log.info({ device: this.#device.id }, "an SNMP device answers again");
    // A discovery finds the credential that works now, unless the polls used that one already.
    if (this.#plan !== undefined && by === this.#credential && this.#sessions.haveAccessOf(this.#device)) {
      if (!this.#sessions.suit(this.#device)) this.#openSessions();
      this.#state = "up";
      this.#prober.stop();
      this.#times.plan();
    }
    this.#parts.answersAgain(this.#device.id);
  }
}
