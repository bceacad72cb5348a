import { valueFaults as valueFaultNames, type ValueFault } from "../session/ber.ts";
import type { Labels, Metrics } from "../../base/report/index.ts";

/** The counts of a device's polls, as plain numbers that the metrics read. */
export class DeviceCounts {
  polls = 0;
  /** The number of polls left out because the one before had not ended, or because the process was suspended at their time. */
  skipped = 0;
  /** The number of objects that were read in part. */
  partial = 0;
  /** The number of tables whose rows did not come in the order of their instances. */
  unordered = 0;
  /** The number of tables that exceeded the limit for one table. */
  cut = 0;
  rows = 0;
  /** The number of rows that were in the previous poll of the object and are gone. */
  vanished = 0;
  unreadable = 0;
  implausible = 0;
  badIndexes = 0;
  restarts = 0;
  /** The number of single requests to a device that does not answer. */
  probes = 0;
  /** The number of single requests for objects that the discovery did not find; then the number of those that found something. */
  looks = 0;
  appeared = 0;
  discoveries = 0;
  failedDiscoveries = 0;
  /** The duration of the last poll, and its delay, in seconds. */
  duration = 0;
  lag = 0;
}

/** The state and counts of one device that the metrics show. */
export interface MeasuredDevice {
  readonly id: string;
  readonly isUp: boolean;
  readonly counts: DeviceCounts;
  readonly requests: {
    readonly requests: number;
    readonly retries: number;
    readonly timeouts: number;
    readonly ignored: number;
  };
  readonly valueFaults: Readonly<Record<ValueFault, number>>;
}

/** Registers the metrics by device. */
export function registerDeviceMetrics(metrics: Metrics, devices: () => Iterable<MeasuredDevice>): void {
  type Read = (device: MeasuredDevice) => number;
  /** The readings come one by one, so that a scrape of many devices is not made all at once. */
  const readings = (read: Read) => () => eachOf(devices, (device) => [{ device: device.id }, read(device)] as const);
  const counter = (name: string, help: string, read: Read): void =>
    metrics.counterFrom(`netgloss_snmp_device_${name}_total`, help, ["device"], readings(read));
  const gauge = (name: string, help: string, read: Read): void =>
    metrics.gaugeFrom(`netgloss_snmp_device_${name}`, help, ["device"], readings(read));

  gauge("up", "Whether the device answers: 1 or 0", ({ isUp }) => (isUp ? 1 : 0));
  counter("requests", "Requests to the device, each counted once", ({ requests }) => requests.requests);
  counter("retries", "Requests to the device sent again", ({ requests }) => requests.retries);
  counter("timeouts", "Requests that the device did not answer at all", ({ requests }) => requests.timeouts);
  counter("ignored_datagrams", "Datagrams not taken as an answer of the device", ({ requests }) => requests.ignored);
  counter("polls", "Polls begun, one for each object type at its interval", ({ counts }) => counts.polls);
  counter(
    "polls_skipped",
    "Polls left out: the one before had not ended, or time leapt",
    ({ counts }) => counts.skipped,
  );
  counter("polls_partial", "Objects polled of which a part is missing", ({ counts }) => counts.partial);
  counter(
    "tables_unordered",
    "Tables whose rows did not come in the order of their instances: some may have been passed over",
    ({ counts }) => counts.unordered,
  );
  counter(
    "tables_cut",
    "Tables larger than what is read of one: their records are partial",
    ({ counts }) => counts.cut,
  );
  counter("rows", "Records made of the device's rows", ({ counts }) => counts.rows);
  counter("rows_vanished", "Rows that an object had in the poll before", ({ counts }) => counts.vanished);
  counter(
    "rows_bad_index",
    "Rows whose instance is no index of the object: their records have it raw",
    ({ counts }) => counts.badIndexes,
  );
  counter("values_unreadable", "Values left out: not of the attribute's syntax", ({ counts }) => counts.unreadable);
  counter("values_implausible", "Readings left out: no device can mean them", ({ counts }) => counts.implausible);
  metrics.counterFrom(
    "netgloss_snmp_device_values_malformed_total",
    "Values that were not as SNMP has them: cut is a counter of which the low 32 bits are used, the others are left out",
    ["device", "fault"],
    () => malformedValues(devices),
  );
  counter("restarts", "Restarts of the device that were noticed", ({ counts }) => counts.restarts);
  counter("probes", "Single requests to the device while it did not answer", ({ counts }) => counts.probes);
  counter(
    "looks",
    "Single requests to see whether the device has what it had not when it was discovered",
    ({ counts }) => counts.looks,
  );
  counter(
    "appearances",
    "Looks that found something new: the device is discovered again",
    ({ counts }) => counts.appeared,
  );
  gauge("poll_duration_seconds", "How long the last poll took", ({ counts }) => counts.duration);
  gauge("poll_lag_seconds", "How late the last poll began", ({ counts }) => counts.lag);
  metrics.counterFrom(
    "netgloss_snmp_device_discoveries_total",
    "Discoveries of the device, by result",
    ["device", "result"],
    () => discoveryResults(devices),
  );
}

type Sample = readonly [Labels, number];

function* eachOf(devices: () => Iterable<MeasuredDevice>, read: (device: MeasuredDevice) => Sample): Generator<Sample> {
  for (const device of devices()) yield read(device);
}

function* malformedValues(devices: () => Iterable<MeasuredDevice>): Generator<Sample> {
  for (const { id, valueFaults } of devices()) {
    for (const fault of valueFaultNames) yield [{ device: id, fault }, valueFaults[fault]];
  }
}

function* discoveryResults(devices: () => Iterable<MeasuredDevice>): Generator<Sample> {
  for (const { id, counts } of devices()) {
    yield [{ device: id, result: "ok" }, counts.discoveries];
    yield [{ device: id, result: "failed" }, counts.failedDiscoveries];
  }
}
