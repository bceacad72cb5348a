import { readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { makeFolder, nodeFileIo, replaceContent } from "../../base/file/index.ts";
import type { Log, Metrics } from "../../base/report/index.ts";
import { planFromJson, planToJson, type DevicePlan } from "./device-plan.ts";

/** Keeps plans over a restart. What cannot be read or written is counted and logged; it costs a discovery, no more. */
export interface PlanStore {
  /** @returns undefined when there is none, or none that can be read. */
  load(deviceId: string): Promise<DevicePlan | undefined>;
  /** Replaces the plan as a whole: a reader sees the old one or this one. */
  save(plan: DevicePlan): Promise<void>;
  remove(deviceId: string): Promise<void>;
  /** Removes the plans of all other devices, and what an interrupted save left. Other files stay. */
  keepOnly(deviceIds: ReadonlySet<string>): Promise<void>;
  /** Notes when polling stopped, in milliseconds since the epoch. */
  noteStop(at: number): Promise<void>;
  /** @returns when an earlier run stopped, once; undefined when it did not say so. */
  takeStop(): Promise<number | undefined>;
}

type PlanOperation = "load" | "save" | "remove";

/**
 * One JSON file for each device in a directory, which is made when it is missing. With an empty path nothing is kept.
 */
export function createPlanStore(directory: string, metrics: Metrics, log: Log): PlanStore {
  const failures = metrics.counter("netgloss_snmp_plan_failures_total", "Plans that could not be read or written", {
    operation: ["load", "save", "remove"] satisfies PlanOperation[],
  });
  const fail = (operation: PlanOperation, deviceId: string, error: unknown): void => {
    failures.add(1, { operation });
    log.warn({ operation, device: deviceId, error }, "the plan of an SNMP device cannot be kept");
  };
  const fileOf = (deviceId: string): string => join(directory, `${deviceId.replace(/[^0-9a-z.]/g, "_")}.json`);
  /** Writes to one file come one after another. */
  const writing = new Map<string, Promise<void>>();
  const inTurn = (deviceId: string, write: () => Promise<void>): Promise<void> => {
    const turn = (writing.get(deviceId) ?? Promise.resolve()).then(write);
    writing.set(deviceId, turn);
    return turn.finally(() => {
      if (writing.get(deviceId) === turn) writing.delete(deviceId);
    });
  };

  /** The device of a file's plan; undefined when it holds none, or is not there. */
  const readOwner = async (path: string): Promise<string | undefined> => {
    try {
      return planFromJson(JSON.parse(await readFile(path, "utf8")))?.deviceId;
    } catch {
      // Not ours, or broken: a broken one is reported when its device wants it.
      return undefined;
    }
  };

  if (directory === "") {
    return {
      load: async () => undefined,
      save: async () => {},
      remove: async () => {},
      keepOnly: async () => {},
      noteStop: async () => {},
      takeStop: async () => undefined,
    };
  }
  return {
    async load(deviceId) {
      try {
        const plan = planFromJson(JSON.parse(await readFile(fileOf(deviceId), "utf8")));
        if (plan?.deviceId === deviceId) return plan;
        fail("load", deviceId, new Error("not a plan of this device in a format that is known"));
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "ENOENT") fail("load", deviceId, error);
      }
      return undefined;
    },
    save: (plan) =>
      inTurn(plan.deviceId, async () => {
        try {
          await makeFolder(directory);
          await replaceFile(fileOf(plan.deviceId), JSON.stringify(planToJson(plan)));
        } catch (error) {
          fail("save", plan.deviceId, error);
        }
      }),
    remove: (deviceId) =>
      inTurn(deviceId, async () => {
        await rm(fileOf(deviceId), { force: true }).catch((error: unknown) => fail("remove", deviceId, error));
      }),
    async noteStop(at) {
      try {
        await makeFolder(directory);
        await replaceFile(join(directory, stopName), `${Math.round(at)}\n`);
      } catch (error) {
        fail("save", stopName, error);
      }
    },
    async takeStop() {
      const path = join(directory, stopName);
      const text = await readFile(path, "utf8").catch(() => "");
      await rm(path, { force: true }).catch((error: unknown) => fail("remove", stopName, error));
      return /^\d{1,15}\n$/.test(text) ? Number(text) : undefined;
    },
    async keepOnly(deviceIds) {
      const known = new Set(Array.from(deviceIds, fileOf));
      const names = await readdir(directory).catch(() => []);
      for (const path of names.map((name) => join(directory, name))) {
        const plan = path.endsWith(temporaryEnd) ? path.slice(0, -temporaryEnd.length) : path;
        if (!plan.endsWith(".json") || (plan === path && known.has(path)) || writing.size > 0) continue;
        const isOurs = plan === path ? (await readOwner(path)) !== undefined : known.has(plan);
        if (isOurs) await rm(path, { force: true }).catch((error: unknown) => fail("remove", path, error));
      }
    },
  };
}

/** Not like the name of a plan. */
const stopName = "last-stop";

const temporaryEnd = ".tmp";

/** A save that was cut off may have left the temporary file. */
async function replaceFile(path: string, text: string): Promise<void> {
  const temporary = `${path}${temporaryEnd}`;
  await rm(temporary, { force: true });
  await replaceContent(nodeFileIo, { target: path, temporary, mode: 0o640 }, Buffer.from(text));
}
