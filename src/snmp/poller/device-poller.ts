import { type MeasuredDevice, type DeviceCounts, createDeviceCounts } from "./device-counts.ts";
import { type Device, type Definitions, deviceCredentials } from "../definitions/definitions.ts";
import type { DevicePlan } from "../discovery/device-plan.ts";
import type { InterfaceView, OctetReading } from "./interface-states.ts";
import { type MissedTurns, placeOf, type Schedule, type Scheduled, createPollTimes } from "./poll-times.ts";
import { getScalars, sysDescrOid, textOf, openSession, refusal, sysUpTimeOid } from "../discovery/identify.ts";
import { formatOid } from "../session/var-bind.ts";
import type { Session } from "../session/session.ts";
import { SnmpError } from "../session/snmp-error.ts";
import { type Pulse, createHeartbeat, hasSettledSince, createDeviceSessions } from "./device-sessions.ts";
import type { PolledType } from "./poll-plan.ts";
import type { Clock, Log } from "../../base/report/index.ts";
import type { SnmpClient } from "../session/snmp-client.ts";
import { type PollerParts, createObjectPolls, isNaming } from "./object-polls.ts";
import { createLearntDevice } from "./learnt-device.ts";
import { createNameOrder, givesNames } from "./row-names.ts";
import { createLimiter } from "../limits.ts";
import { createAppearances } from "./appearances.ts";

/** Polls one device: each object type at its interval, and while it does not answer with one request an interval. */
export interface DevicePoller extends MeasuredDevice {
  readonly device: Device;
  readonly plan: DevicePlan | undefined;
  readonly state: "undiscovered" | "up" | "down";
  readonly interfaces: ReadonlyMap<number, string>;
  readonly addresses: readonly string[];
  /** The name of a port by its lldpLocPortNum; undefined while it is not known. */
  lldpPort(port: number): string | undefined;
  /** The same with their states and rates. */
  interfaceViews(): readonly InterfaceView[];
  /** The last readings of the counters of bytes, by ifIndex. */
  octets(): ReadonlyMap<number, readonly OctetReading[]>;
  readonly lastPoll: number | undefined;
  readonly lastError: { readonly at: number; readonly message: string } | undefined;
  /** Milliseconds since the epoch. */
  nextPoll(): number | undefined;
  readonly counts: DeviceCounts;
  /** Puts a plan in the place of the one before and polls by it. */
  adopt(plan: DevicePlan): void;
  /** Goes on with the plan of an earlier run, which may have missed the last turn of the device. */
  resume(plan: DevicePlan, missed: MissedTurns): void;
  /** A discovery failed: the plan that there is stays. Without one the device is asked again each interval. */
  discoveryFailed(message: string): void;
  /** Uses other definitions from the next poll on. */
  update(device: Device, definitions: Definitions): void;
  /** Polls the tables of interfaces now, in addition to their times: at most once in 10 s. */
  pollInterfaces(): void;
  /** Polls no more. Lets what is in flight end, or gives it up at once. */
  stop(isAtOnce?: boolean): Promise<void>;
}

/** Devices that were discovered together are not so again: each has a tenth of the interval of its own. */
function rediscoveryMs({ id, rediscoverIntervalMs }: Device): number {
  return rediscoverIntervalMs === 0 ? Infinity : rediscoverIntervalMs * (0.95 + placeOf(id) / 10);
}

/** @returns why the device is discovered again after this pulse; undefined: it is what its plan says. @param now as `Clock.now`. */
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

/** Whether a polled attribute asks for a discovery after each restart. */
function watchesResets(types: ReadonlyMap<string, PolledType>): boolean {
  return [...types.values()].some(({ objects }) =>
    objects.some(({ columns }) => columns.some(({ attribute }) => attribute.rediscover === "OnReset")),
  );
}

/** After a restart a device may run another system, or be another one of the same kind. @returns undefined: it is neither. */
async function reasonAfterRestart(by: Session, plan: DevicePlan): Promise<string | undefined> {
  if (plan.sysDescr === undefined) return undefined;
  const { values } = await getScalars(by, [sysDescrOid], 1).catch((error: unknown) => {
    if (error instanceof SnmpError) return { values: [] };
    throw error;
  });
  const now = textOf(values[0]);
  return now === undefined || now === plan.sysDescr ? undefined : "another sysDescr after a restart";
}

/** Asks a silent device again and again. */
interface Prober {
  readonly isActive: boolean;
  /** Of the monotonic clock; undefined when it is not active. */
  readonly due: number | undefined;
  /** Asks in an interval from now, and each interval after the answer, until it is stopped. */
  start(): void;
  stop(): void;
}

/**
 * @param ask asks once. Never rejects.
 * @param intervalMs is asked each time, so that it may change.
 */
function createProber(schedule: Schedule, clock: Clock, intervalMs: () => number, ask: () => Promise<void>): Prober {
  let scheduled: Scheduled | undefined;
  const start = (): void => {
    if (scheduled !== undefined) schedule.cancel(scheduled);
    const item = schedule.at(clock.monotonic() + intervalMs(), () => void goOn());
    const goOn = async (): Promise<void> => {
      await ask();
      // Unless it was stopped, or begun again, while it was asked.
      if (scheduled === item) start();
    };
    scheduled = item;
  };
  return {
    get isActive() {
      return scheduled !== undefined;
    },
    get due() {
      return scheduled?.due;
    },
    start,
    stop() {
      if (scheduled !== undefined) schedule.cancel(scheduled);
      scheduled = undefined;
    },
  };
}

/** Asks a silent device by one request, with one credential after the other, because it may come back with another. */
interface AccessProbe {
  /** The next request is made with this credential. */
  begin(credential: number): void;
  /** @returns the credential that was answered, or why there was no answer. */
  ask(device: Device): Promise<{ readonly credential: number; readonly failure: string | undefined }>;
}

function createAccessProbe(client: SnmpClient): AccessProbe {
  let next = 0;
  return {
    begin: (credential) => void (next = credential),
    async ask(device) {
      const credential = next;
      next = (credential + 1) % Math.max(1, deviceCredentials(device).length);
      let session: Session | undefined;
      try {
        session = openSession(client, device, credential, 0);
        const { errorStatus } = await getScalars(session, [sysUpTimeOid], 1);
        return { credential, failure: errorStatus === 0 ? undefined : refusal(errorStatus).message };
      } catch (error) {
        if (!(error instanceof SnmpError)) throw error;
        return { credential, failure: error.message };
      } finally {
        session?.close();
      }
    },
  };
}

/** The work of a device that is under way. */
interface RunningPolls {
  /** @returns what never rejects: a fault of the collector is noted and logged. */
  track(work: Promise<void>): Promise<void>;
  /** Resolves when all that runs now has ended. */
  settled(): Promise<unknown>;
}

function createRunningPolls(deviceId: string, log: Log, note: (message: string) => void): RunningPolls {
  const running = new Set<Promise<void>>();
  return {
    track(work) {
      const tracked = work
        .catch((error: unknown) => {
          note(String(error));
          log.error({ device: deviceId, error }, "a poll failed by a fault of the collector");
        })
        .finally(() => running.delete(tracked));
      running.add(tracked);
      return tracked;
    },
    settled: () => Promise.allSettled(running),
  };
}

export function createDevicePoller(parts: PollerParts, firstDevice: Device, first: Definitions): DevicePoller {
  const { client, schedule, clock, log } = parts;
  let device = firstDevice;
  let definitions = first;
  let plan: DevicePlan | undefined;
  let state: DevicePoller["state"] = "undiscovered";
  let credential = 0;
  let hostName: string | undefined;
  let lastPoll: number | undefined;
  let lastError: DevicePoller["lastError"];
  let isStopped = false;
  let restarts = 0;
  /** Whether the numbers of interfaces may be others than those of the names. */
  let areNamesOld = false;
  const counts = createDeviceCounts();
  const note = (message: string): void => void (lastError = { at: clock.now(), message });
  const running = createRunningPolls(firstDevice.id, log, note);
  const learnt = createLearntDevice(parts);
  const nameOrder = createNameOrder();
  const limiter = createLimiter(() => device.maxConcurrentPolls);
  const sessions = createDeviceSessions(client, () => running.settled());
  const accessProbe = createAccessProbe(client);
  const appearances = createAppearances(clock, counts, (name) => parts.rediscover(device.id, `it has ${name} now`));
  const heartbeat = createHeartbeat(clock, onPulse, () => device.maxOids);
  const prober = createProber(
    schedule,
    clock,
    () => device.pollIntervalMs,
    () => running.track(probe()),
  );
  const objectPolls = createObjectPolls({
    shared: parts,
    now: () => ({
      device,
      definitions,
      hostName: hostName ?? plan?.sysName ?? device.name,
      facts: plan?.facts ?? new Map(),
      restarts,
      isPolled: !isStopped && state === "up",
      isStopped,
    }),
    learnt,
    sessions,
    limiter,
    counts,
    onSilence: () => isAlive(sessions.single),
    confirm: () => isAlive(sessions.polling),
    onNames: () => parts.learnt(poller),
    note,
  });
  const times = createPollTimes({
    schedule,
    clock,
    compile: parts.compile,
    now: () => ({ device, definitions, plan }),
    poll: (type, lagMs) => running.track(pollType(type, lagMs)),
    onMissed: (polls) => void (counts.skipped += polls),
  });

  const openSessions = (): void => {
    const failure = sessions.open(device, credential);
    if (failure !== undefined) note(failure);
  };

  async function pollType(name: string, lagMs: number): Promise<void> {
    const type = times.types().get(name);
    if (type === undefined || isStopped) return;
    const start = clock.monotonic();
    const objects = objectPolls.readable(type.objects);
    const turn = nameOrder.begin(start - lagMs, objects.filter(isNaming).length);
    counts.polls++;
    counts.lag = lagMs / 1000;
    lastPoll = clock.now();
    try {
      if (!(await isAlive(sessions.polling))) return;
      if (areNamesOld && objects.some(givesNames)) {
        areNamesOld = false;
        learnt.forgetInterfaces();
      }
      await objectPolls.run(objects, turn, type.intervalMs);
      counts.duration = (clock.monotonic() - start) / 1000;
      lookAround();
    } finally {
      turn.end();
    }
  }

  /** The next poll does not wait for it. */
  function lookAround(): void {
    const by = sessions.single;
    if (by !== undefined && !isStopped && state === "up" && appearances.isDue(device))
      void running.track(appearances.look(device, by));
  }

  async function isAlive(by: Session | undefined): Promise<boolean> {
    try {
      if (by === undefined) throw new SnmpError("invalid", lastError?.message ?? "there is no session");
      await heartbeat.beat(by);
      return !isStopped && state === "up";
    } catch (error) {
      if (!(error instanceof SnmpError)) throw error;
      // What was asked with credentials that are no longer used says nothing about those that are.
      const isCurrent = by === sessions.polling || by === sessions.single;
      if (error.code !== "closed" && isCurrent) goDown(error.message);
      return false;
    }
  }

  function onPulse(pulse: Pulse): void {
    if (isStopped) return;
    hostName = pulse.sysName ?? hostName;
    if (pulse.change !== undefined) areNamesOld = true;
    rediscover(reasonOfPulse(pulse, device, plan, clock.now()));
    if (pulse.isRestarted) hearRestart();
  }

  function hearRestart(): void {
    restarts++;
    counts.restarts++;
    learnt.restarted();
    appearances.restarted();
    log.info({ device: device.id }, "an SNMP device has restarted");
    const by = sessions.single;
    if (watchesResets(times.types())) rediscover("restart");
    else if (plan !== undefined && by !== undefined) void running.track(reasonAfterRestart(by, plan).then(rediscover));
  }

  function rediscover(reason: string | undefined): void {
    if (reason !== undefined) parts.rediscover(device.id, reason);
  }

  function goDown(message: string): void {
    note(message);
    if (isStopped || (state !== "up" && prober.isActive)) return;
    if (state === "up") log.warn({ device: device.id, error: message }, "an SNMP device does not answer");
    state = plan === undefined ? "undiscovered" : "down";
    times.clear();
    accessProbe.begin(credential);
    prober.start();
  }

  async function probe(): Promise<void> {
    counts.probes++;
    const { credential: by, failure } = await accessProbe.ask(device);
    if (failure !== undefined) note(failure);
    if (isStopped || failure !== undefined || !prober.isActive) return;
    log.info({ device: device.id }, "an SNMP device answers again");
    // What it answers to now is for a discovery to find out, unless that is what it was polled with.
    if (plan !== undefined && by === credential && sessions.haveAccessOf(device)) {
      if (!sessions.suit(device)) openSessions();
      state = "up";
      prober.stop();
      times.plan();
    }
    parts.answersAgain(device.id);
  }

  function take(next: DevicePlan, missed?: MissedTurns): void {
    if (isStopped) return;
    plan = next;
    times.changed();
    state = "up";
    if (credential !== next.credential || sessions.polling === undefined || !sessions.suit(device)) {
      credential = next.credential;
      openSessions();
    }
    hostName = next.sysName;
    heartbeat.forget(next.marks);
    if (next.problem !== undefined) note(next.problem);
    const areRowNamesGone = learnt.discovered(next);
    appearances.discovered(next, definitions, device);
    prober.stop();
    times.plan(missed);
    // What names the rows of other tables is polled once an hour or less.
    if (areRowNamesGone) times.pollAll();
    parts.learnt(poller);
  }

  const poller: DevicePoller = {
    get id() {
      return device.id;
    },
    get device() {
      return device;
    },
    get plan() {
      return plan;
    },
    get state() {
      return state;
    },
    get isUp() {
      return state === "up";
    },
    get interfaces() {
      return learnt.names.interfaces;
    },
    get addresses() {
      return learnt.names.addresses;
    },
    lldpPort: (port) => learnt.lldpPort(port),
    interfaceViews: () => learnt.interfaceViews(),
    octets: () => learnt.octets(),
    get lastPoll() {
      return lastPoll;
    },
    get lastError() {
      return lastError;
    },
    counts,
    get requests() {
      return sessions.counts;
    },
    get valueFaults() {
      return sessions.valueFaults;
    },
    nextPoll() {
      const due = times.nextDue() ?? prober.due;
      return due === undefined ? undefined : clock.now() + due - clock.monotonic();
    },
    adopt: (next) => take(next),
    resume: take,
    discoveryFailed(message) {
      note(message);
      if (plan === undefined && !prober.isActive && !isStopped) prober.start();
    },
    update(nextDevice, nextDefinitions) {
      device = nextDevice;
      definitions = nextDefinitions;
      times.changed();
      limiter.changed();
      // Other credentials are for the discovery to try: until it has, those that are known to work are used.
      if (sessions.haveAccessOf(device) && !sessions.suit(device)) openSessions();
      if (state === "up") times.plan();
    },
    pollInterfaces() {
      if (!isStopped) times.pollInterfaces();
    },
    async stop(isAtOnce = false) {
      isStopped = true;
      learnt.end();
      if (isAtOnce) sessions.close();
      times.clear();
      prober.stop();
      await running.settled();
      sessions.close();
    },
  };
  // Open from the start, so that what a discovery asks is counted with the device.
  openSessions();
  return poller;
}
