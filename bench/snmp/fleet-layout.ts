/** What the devices of the bench are. */
export type DeviceClass = "24 interfaces" | "48 interfaces" | "500 interfaces" | "slow" | "dead";

/** How many there are of each, 2 000 in all; in the order of their addresses. */
export const fleetLayout: readonly (readonly [DeviceClass, number])[] = [
  ["24 interfaces", 1600],
  ["48 interfaces", 300],
  ["500 interfaces", 80],
  ["slow", 10],
  ["dead", 10],
];

/** Milliseconds before a slow device answers. */
export const slowDelay = 1000;

export const deviceClasses: readonly DeviceClass[] = fleetLayout.flatMap(([name, count]) =>
  Array.from({ length: count }, () => name),
);

export function interfacesOf(deviceClass: DeviceClass): number {
  const count = Number.parseInt(deviceClass, 10);
  return Number.isNaN(count) ? 24 : count;
}
