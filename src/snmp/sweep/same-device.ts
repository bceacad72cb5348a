/** What identifies a device, as far as the device says it. */
export interface DeviceIdentity {
  /** The address that is asked. */
  readonly address: string;
  /** Hex digits. */
  readonly engineId: string | undefined;
  readonly serial: string | undefined;
  /** Text with a leading dot. */
  readonly sysObjectId: string | undefined;
  readonly sysName: string | undefined;
  /** Its own addresses. */
  readonly addresses: readonly string[];
}

/** Devices that are known, and which of them another answer comes from. */
export interface KnownDevices<D extends DeviceIdentity> {
  add(device: D): void;
  /** The device that this one is, and what shows it; undefined for one that is none of them. */
  find(device: DeviceIdentity): { readonly device: D; readonly reason: string } | undefined;
}

/** Serial numbers that makers leave in many devices. */
const junkSerial =
  /^(?:.{0,3}|(.)\1*|n\/?a|none|null|unknown|default.*|not .*|to be filled.*|system serial.*|0?123456789.*)$/i;

export function createKnownDevices<D extends DeviceIdentity>(): KnownDevices<D> {
  const byEngine = new Map<string, D[]>();
  const bySerial = new Map<string, D[]>();
  const byAddress = new Map<string, D[]>();
  const put = (table: Map<string, D[]>, key: string, device: D): void => {
    const there = table.get(key);
    if (there === undefined) table.set(key, [device]);
    else there.push(device);
  };
  return {
    add(device) {
      if (device.engineId !== undefined) put(byEngine, device.engineId, device);
      const serial = serialOf(device);
      if (serial !== undefined) put(bySerial, serial, device);
      for (const address of new Set([device.address, ...device.addresses])) put(byAddress, address, device);
    },
    find(device) {
      const { engineId } = device;
      const serial = serialOf(device);
      const ofEngine = (engineId === undefined ? undefined : byEngine.get(engineId))?.find(
        (other) => !haveOtherSerials(device, other) && !haveOtherAddresses(device, other),
      );
      if (ofEngine !== undefined) return { device: ofEngine, reason: `the same engine id ${engineId}` };
      const ofSerial = (serial === undefined ? undefined : bySerial.get(serial))?.find(
        (other) => other.sysObjectId === device.sysObjectId,
      );
      if (ofSerial !== undefined) return { device: ofSerial, reason: `the same serial number ${serial}` };
      const addresses = [device.address, ...device.addresses];
      const ofAddress = addresses
        .flatMap((address) => byAddress.get(address) ?? [])
        .find((other) => isSameByAddress(device, other));
      return ofAddress && { device: ofAddress, reason: reasonOf(device, ofAddress) };
    },
  };
}

function reasonOf({ address, addresses }: DeviceIdentity, other: DeviceIdentity): string {
  if (other.addresses.includes(address)) return `${address} is one of its addresses`;
  return addresses.includes(other.address) ? `${other.address} is one of its addresses` : "the same addresses";
}

/** Each may have addresses that others have, too, such as a virtual one or one of a network behind it. */
function isSameByAddress(a: DeviceIdentity, b: DeviceIdentity): boolean {
  if (a.sysObjectId !== b.sysObjectId || a.sysName !== b.sysName || haveOtherSerials(a, b)) return false;
  if (a.engineId !== undefined && b.engineId !== undefined && a.engineId !== b.engineId) return false;
  if (b.addresses.includes(a.address) || a.addresses.includes(b.address)) return true;
  return a.addresses.length > 0 && [...a.addresses].sort().join() === [...b.addresses].sort().join();
}

function serialOf({ serial }: DeviceIdentity): string | undefined {
  const text = serial?.trim();
  return text === undefined || junkSerial.test(text) ? undefined : text;
}

function haveOtherSerials(a: DeviceIdentity, b: DeviceIdentity): boolean {
  const [first, second] = [serialOf(a), serialOf(b)];
  return first !== undefined && second !== undefined && first !== second;
}

/** Copies of one virtual machine have its engine id, but addresses of their own. */
function haveOtherAddresses(a: DeviceIdentity, b: DeviceIdentity): boolean {
  if (a.addresses.length === 0 || b.addresses.length === 0) return false;
  return a.addresses.every((address) => !b.addresses.includes(address));
}
