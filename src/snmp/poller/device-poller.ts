import type { Clock, Log } from "../../report/index.ts";
import type { Definitions, Device } from "../definitions/definitions.ts";
import { deviceCredentials } from "../definitions/device-credentials.ts";
import type { DevicePlan } from "../discovery/device-plan.ts";
import { getScalars } from "../discovery/get-scalars.ts";
import { openSession, sysNameOid, sysObjectIdOid, sysUpTimeOid, textOf } from "../discovery/identify.ts";
import { createInterfaceLearner } from "../discovery/learn-interfaces.ts";
import { formatOid } from "../session/oid.ts";
import { createRepetitions } from "../session/repetitions.ts";
import type { Session } from "../session/session.ts";
import type { SnmpClient } from "../session/snmp-client.ts";
import { SnmpError } from "../session/snmp-error.ts";
import { createDeviceCounts, type DeviceCounts, type MeasuredDevice } from "./device-counts.ts";
import { createLimiter } from "./limiter.ts";
import { pollObject, type PolledRow } from "./poll-object.ts";
import { compilePollPlan, type PolledObject, type PolledType } from "./poll-plan.ts";
import type { RecordWriter } from "./record-writer.ts";
import type { Schedule, Scheduled } from "./schedule.ts";
import { hasRestarted, type UptimeReading } from "./uptime.ts";
import { createWatchedValues } from "./watched-values.ts";

/** What all devices share. */
export interface PollerParts {
  readonly client: SnmpClient;
  readonly schedule: Schedule;
  readonly writer: RecordWriter;
  readonly clock: Clock;
  /** Limited in rate. */
  readonly log: Log;
  /** Asks for a discovery; the poller goes on with the plan it has. */
  readonly rediscover: (deviceId: string, reason: string) => void;
  /** The names and addresses of a device have changed. */
  readonly learnt: (device: DevicePoller) => void;
}

/** Polls one device: each object type at its interval, and while it does not answer with one request an interval. */
export interface DevicePoller extends MeasuredDevice {
  readonly device: Device;
  readonly plan: DevicePlan | undefined;
  readonly state: "undiscovered" | "up" | "down";
  readonly interfaces: ReadonlyMap<number, string>;
  readonly addresses: readonly string[];
  readonly lastPoll: number | undefined;
  readonly lastError: { readonly at: number; readonly message: string } | undefined;
  /** Milliseconds since the epoch. */
  nextPoll(): number | undefined;
  readonly counts: DeviceCounts;
  /** Puts a plan in the place of the one before and polls by it after the delay. */
  adopt(plan: DevicePlan, delayMs: number): void;
  /** A discovery failed: the plan that there is stays. Without one the device is asked again each interval. */
  discoveryFailed(message: string): void;
  /** Uses other definitions from the next poll on. */
  update(device: Device, definitions: Definitions): void;
  /** Lets what is in flight end and polls no more. */
  stop(): Promise<void>;
}

interface TypeTask {
  due: number;
  scheduled: Scheduled;
  isRunning: boolean;
}

export function createDevicePoller(parts: PollerParts, firstDevice: Device, first: Definitions): DevicePoller {
  const { client, schedule, clock, log } = parts;
  let device = firstDevice;
  let definitions = first;
  let plan: DevicePlan | undefined;
  let state: DevicePoller["state"] = "undiscovered";
  let compiled: ReadonlyMap<string, PolledType> | undefined;
  let session: Session | undefined;
  /** Keeps the counts of the device's address for as long as it is polled. */
  let anchor: Session | undefined;
  /** What the sessions were opened with. */
  let openedWith: string | undefined;
  let credential = 0;
  let nextProbeCredential = 0;
  let lastReading: UptimeReading | undefined;
  let hostName: string | undefined;
  let interfaces: ReadonlyMap<number, string> = new Map();
  const described = new Map<number, string>();
  let addresses: readonly string[] = [];
  let lastPoll: number | undefined;
  let lastError: DevicePoller["lastError"];
  let isStopped = false;
  let heartbeat: Promise<void> | undefined;
  let probe: TypeTask | undefined;
  const counts = createDeviceCounts();
  const tasks = new Map<string, TypeTask>();
  const running = new Set<Promise<void>>();
  const lastRows = new Map<string, ReadonlySet<string>>();
  const repetitions = createRepetitions();
  const watched = createWatchedValues();
  const limiter = createLimiter(() => device.maxConcurrentPolls);

  const note = (message: string): void => void (lastError = { at: clock.now(), message });
  const types = (): ReadonlyMap<string, PolledType> =>
    (compiled ??= plan === undefined ? new Map<string, PolledType>() : compilePollPlan(plan, definitions, device));
  const track = (work: Promise<void>): void => {
    const tracked = work
      .catch((error: unknown) => {
        note(String(error));
        log.error({ device: device.id, error }, "a poll failed by a fault of the collector");
      })
      .finally(() => running.delete(tracked));
    running.add(tracked);
  };

  const openSessions = (): void => {
    openedWith = sessionTermsOf(device);
    const before = [session, anchor];
    session = undefined;
    anchor = undefined;
    try {
      session = openSession(client, device, credential, device.retries);
      anchor = openSession(client, device, credential, 0);
    } catch (error) {
      if (!(error instanceof SnmpError)) throw error;
      note(error.message);
    }
    for (const old of before) if (old !== undefined) closeLater(old);
  };
  /** What is in flight on a session that is replaced may end. */
  const closeLater = (old: Session): void => {
    void Promise.allSettled(running).then(() => old.close());
  };

  const cancelTasks = (): void => {
    for (const task of tasks.values()) schedule.cancel(task.scheduled);
    tasks.clear();
    if (probe !== undefined) schedule.cancel(probe.scheduled);
    probe = undefined;
  };

  /** Brings the tasks in line with what is to be polled. Types that were there keep their place in time. */
  const planTasks = (delayMs: number): void => {
    const now = clock.monotonic();
    for (const [name, task] of tasks) {
      if (types().has(name)) continue;
      schedule.cancel(task.scheduled);
      tasks.delete(name);
    }
    for (const [name, { intervalMs }] of types()) {
      const known = tasks.get(name);
      const due = known === undefined ? now + delayMs : Math.min(known.due, now + intervalMs);
      if (known?.due === due) continue;
      if (known !== undefined) schedule.cancel(known.scheduled);
      const isRunning = known?.isRunning ?? false;
      const task: TypeTask = { due, isRunning, scheduled: schedule.at(due, () => onDue(name)) };
      if (known === undefined) tasks.set(name, task);
      else Object.assign(known, { due, scheduled: task.scheduled });
    }
  };

  const onDue = (name: string): void => {
    const task = tasks.get(name);
    const type = types().get(name);
    if (task === undefined || type === undefined || isStopped) return;
    const now = clock.monotonic();
    const lag = now - task.due;
    // The grid of times stays, whatever a poll takes; what was slept through is not made up for.
    task.due += type.intervalMs * Math.max(1, Math.ceil((now - task.due + 1) / type.intervalMs));
    task.scheduled = schedule.at(task.due, () => onDue(name));
    if (task.isRunning) {
      counts.skipped++;
      return;
    }
    counts.lag = lag / 1000;
    task.isRunning = true;
    track(pollType(type).finally(() => (task.isRunning = false)));
  };

  async function pollType(type: PolledType): Promise<void> {
    const start = clock.monotonic();
    counts.polls++;
    lastPoll = clock.now();
    if (!(await isAlive(session))) return;
    // Names first, so that other tables of the same poll can use them.
    const objects = [...type.objects].sort(
      (a, b) => Number(b.id.startsWith("IF-MIB::")) - Number(a.id.startsWith("IF-MIB::")),
    );
    await Promise.all(objects.map((object) => limiter.run(() => pollOne(object))));
    counts.duration = (clock.monotonic() - start) / 1000;
  }

  /** Asks who is there, once for all polls that begin together. */
  async function isAlive(by: Session | undefined): Promise<boolean> {
    if (by === undefined) return false;
    heartbeat ??= beat(by).finally(() => (heartbeat = undefined));
    try {
      await heartbeat;
      return !isStopped && state === "up";
    } catch (error) {
      if (!(error instanceof SnmpError)) throw error;
      if (error.code !== "closed") goDown(error.message);
      return false;
    }
  }

  async function beat(by: Session): Promise<void> {
    const { values } = await getScalars(by, [sysUpTimeOid, sysObjectIdOid, sysNameOid], 3);
    const [uptime, sysObjectId, sysName] = values;
    const engine = by.engine();
    const reading: UptimeReading = {
      ticks: uptime?.type === "TimeTicks" ? uptime.value : undefined,
      boots: engine?.boots,
      engineId: engine === undefined ? undefined : Buffer.from(engine.id).toString("hex"),
      at: clock.monotonic(),
    };
    hostName = textOf(sysName) ?? hostName;
    const isAnew = lastReading !== undefined && hasRestarted(lastReading, reading);
    lastReading = reading;
    if (isAnew) {
      counts.restarts++;
      log.info({ device: device.id }, "an SNMP device has started anew");
      if (watchesResets()) parts.rediscover(device.id, "restart");
    }
    const isOther =
      sysObjectId?.type === "ObjectIdentifier" &&
      plan?.sysObjectId !== undefined &&
      formatOid(sysObjectId.value) !== formatOid(plan.sysObjectId);
    if (isOther) parts.rediscover(device.id, "another sysObjectID");
  }

  const watchesResets = (): boolean =>
    [...types().values()].some(({ objects }) =>
      objects.some(({ columns }) => columns.some(({ attribute }) => attribute.rediscover === "OnReset")),
    );

  async function pollOne(object: PolledObject): Promise<void> {
    const by = session;
    if (by === undefined || isStopped || state !== "up") return;
    const { maxOids, maxRepetitions } = device;
    const polled = await pollObject(by, object, { maxOids, maxRepetitions, repetitions }, clock);
    if (polled.error?.code === "closed") return;
    const reason = watched.see(object, polled, clock.monotonic());
    if (reason !== undefined) parts.rediscover(device.id, reason);
    learn(polled.rows);
    const written = await parts.writer.write(
      {
        ip: device.ip,
        hostName: hostName ?? plan?.sysName ?? device.name,
        names: { enums: definitions.enums, interfaceName: (index) => interfaces.get(index) },
      },
      object,
      polled,
    );
    counts.rows += written.records;
    counts.unreadable += written.unreadable;
    counts.badIndexes += written.badIndexes;
    if (polled.isComplete) countVanished(object, polled.rows);
    else {
      counts.partial++;
      note(`${object.id}: ${polled.detail ?? "incomplete"}`);
    }
    // The other objects need not find out one by one, each with all its retries.
    if (polled.error?.code === "timeout") await isAlive(anchor);
  }

  function learn(rows: readonly PolledRow[]): void {
    const learner = createInterfaceLearner();
    for (const { values } of rows) for (const value of values) if (value !== undefined) learner.add(value);
    const found = learner.result();
    const names = new Map(found.names);
    for (const [index, description] of found.descriptions) {
      // A description may only replace a description: ifName is read by another table's poll.
      const isFree = !interfaces.has(index) || interfaces.get(index) === described.get(index);
      if (isFree && !names.has(index)) names.set(index, description);
      described.set(index, description);
    }
    const isKnown =
      [...names].every(([index, name]) => interfaces.get(index) === name) &&
      found.addresses.every((address) => addresses.includes(address));
    if (isKnown) return;
    interfaces = new Map([...interfaces, ...names]);
    addresses = [...new Set([...addresses, ...found.addresses])];
    parts.learnt(poller);
  }

  function countVanished(object: PolledObject, rows: readonly PolledRow[]): void {
    const present = new Set(rows.map(({ suffix }) => suffix.join(".")));
    for (const suffix of lastRows.get(object.id) ?? []) if (!present.has(suffix)) counts.vanished++;
    lastRows.set(object.id, present);
  }

  function goDown(message: string): void {
    note(message);
    if (isStopped || (state !== "up" && probe !== undefined)) return;
    if (state === "up") log.warn({ device: device.id, error: message }, "an SNMP device does not answer");
    state = plan === undefined ? "undiscovered" : "down";
    cancelTasks();
    nextProbeCredential = credential;
    scheduleProbe(device.pollIntervalMs);
  }

  function scheduleProbe(delayMs: number): void {
    const due = clock.monotonic() + delayMs;
    probe = { due, isRunning: false, scheduled: schedule.at(due, () => track(runProbe())) };
  }

  /** One request, with one credential after the other, because the device may come back with another. */
  async function runProbe(): Promise<void> {
    counts.probes++;
    const by = nextProbeCredential;
    nextProbeCredential = (by + 1) % Math.max(1, deviceCredentials(device).length);
    let probing: Session | undefined;
    let isBack = false;
    try {
      probing = openSession(client, device, by, 0);
      await probing.get([sysUpTimeOid]);
      isBack = true;
    } catch (error) {
      if (!(error instanceof SnmpError)) throw error;
      note(error.message);
    } finally {
      probing?.close();
    }
    if (isStopped || probe === undefined) return;
    if (!isBack) {
      scheduleProbe(device.pollIntervalMs);
      return;
    }
    log.info({ device: device.id }, "an SNMP device answers again");
    if (plan === undefined || by !== credential) {
      scheduleProbe(device.pollIntervalMs);
      parts.rediscover(device.id, "it answers again");
      return;
    }
    state = "up";
    probe = undefined;
    planTasks(0);
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
      return interfaces;
    },
    get addresses() {
      return addresses;
    },
    get lastPoll() {
      return lastPoll;
    },
    get lastError() {
      return lastError;
    },
    counts,
    get requests() {
      return anchor?.counts ?? { requests: 0, retries: 0, timeouts: 0 };
    },
    nextPoll() {
      const dues = [...tasks.values(), ...(probe === undefined ? [] : [probe])].map(({ due }) => due);
      return dues.length === 0 ? undefined : clock.now() + Math.min(...dues) - clock.monotonic();
    },
    adopt(next, delayMs) {
      if (isStopped) return;
      plan = next;
      compiled = undefined;
      state = "up";
      if (credential !== next.credential || session === undefined || openedWith !== sessionTermsOf(device)) {
        credential = next.credential;
        openSessions();
      }
      hostName = next.sysName;
      interfaces = next.interfaces;
      addresses = next.addresses;
      watched.clear();
      if (probe !== undefined) schedule.cancel(probe.scheduled);
      probe = undefined;
      planTasks(delayMs);
      parts.learnt(poller);
    },
    discoveryFailed(message) {
      note(message);
      if (plan === undefined && probe === undefined && !isStopped) scheduleProbe(device.pollIntervalMs);
    },
    update(nextDevice, nextDefinitions) {
      // Other credentials are for the discovery to try: until it has, those that are known to work are used.
      const isAskedTheSame = accessOf(nextDevice) === accessOf(device);
      device = nextDevice;
      definitions = nextDefinitions;
      compiled = undefined;
      if (isAskedTheSame && openedWith !== sessionTermsOf(device)) openSessions();
      if (state === "up") planTasks(0);
    },
    async stop() {
      isStopped = true;
      cancelTasks();
      await Promise.allSettled(running);
      session?.close();
      anchor?.close();
    },
  };
  // Open from the start, so that what a discovery asks is counted with the device.
  openSessions();
  return poller;
}

function accessOf(device: Device): string {
  return JSON.stringify(deviceCredentials(device));
}

/** The credentials in the clear: to compare, never to show. */
function sessionTermsOf(device: Device): string {
  return JSON.stringify([accessOf(device), device.timeoutMs, device.retries, device.exponentialTimeout]);
}
