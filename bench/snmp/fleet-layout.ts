/** What the devices of the bench are. */
export type DeviceClass = "24 interfaces" | "48 interfaces" | "500 interfaces" | "slow" | "dead" | HostileClass;

/** Devices that a collector must outlive: tables without an end, values as large as datagrams, answers that are none. */
export type HostileClass = "endless" | "endless and slow" | "endless and large" | "backwards" | "garbage";

export type FleetLayout = readonly (readonly [DeviceClass, number])[];

/** How many there are of each, 2 000 in all; in the order of their addresses. */
export const fleetLayout: FleetLayout = [
  ["24 interfaces", 1600],
  ["48 interfaces", 300],
  ["500 interfaces", 80],
  ["slow", 10],
  ["dead", 10],
];

/** Milliseconds before a slow device answers. */
export const slowDelay = 1000;

/** 10 000, as in a network of access switches. */
export const manyLayout: FleetLayout = [
  ["24 interfaces", 9000],
  ["48 interfaces", 960],
  ["slow", 20],
  ["dead", 20],
];

/** A fifth of {@link fleetLayout}. */
export const shortLayout: FleetLayout = fleetLayout.map(([name, count]) => [name, count / 5]);

/** 2 000 good ones, and 100 that are not. */
export const hostileLayout: FleetLayout = [
  ["24 interfaces", 1620],
  ["48 interfaces", 300],
  ["500 interfaces", 80],
  ["endless", 40],
  ["endless and slow", 20],
  ["endless and large", 20],
  ["backwards", 10],
  ["garbage", 10],
];

export const classesOf = (layout: FleetLayout): readonly DeviceClass[] =>
  layout.flatMap(([name, count]) => Array.from({ length: count }, () => name));

export function interfacesOf(deviceClass: DeviceClass): number {
  const count = Number.parseInt(deviceClass, 10);
  return Number.isNaN(count) ? 24 : count;
}
