/** A device that this collector is to poll from now on. */
export interface GivenDevice {
  readonly deviceId: string;
  /** The plan of who polled it before, as text. */
  readonly plan: string | undefined;
  /** The longest time that it may have gone without a poll, in milliseconds; undefined: it was never polled. */
  readonly idleMs: number | undefined;
}

/** The outcome of a rediscovery by another collector. */
export interface RemoteDiscovery {
  readonly ok: boolean;
  readonly error?: string;
}

/** What polls the devices that this collector is given. */
export interface DeviceTaker {
  take(devices: readonly GivenDevice[]): Promise<void>;
  /** Polls them no more, at once. @returns their plans as text, as far as there are any. */
  release(deviceIds: readonly string[]): Promise<ReadonlyMap<string, string | undefined>>;
  /** @returns undefined when the device is not polled here. */
  rediscover(deviceId: string): Promise<RemoteDiscovery> | undefined;
}

/** Devices shared with other collectors: each is polled by one. */
export interface DeviceSharing {
  /** The name of this collector. */
  readonly member: string;
  /** Begins. Resolves when devices were given for the first time, or cannot be for now. */
  start(taker: DeviceTaker): Promise<void>;
  /** The devices of the definitions, at the start and whenever they have changed. */
  offer(deviceIds: readonly string[]): void;
  holds(deviceId: string): boolean;
  /** The collector that polls a device; undefined when this one does not know. */
  memberOf(deviceId: string): string | undefined;
  /** Keeps the plan of a device for the next collector. */
  keep(deviceId: string, plan: string): Promise<void>;
  /** Whether this collector does what one of them is to do. */
  leads(): boolean;
  /**
   * Asks the collector that polls the device to discover it.
   *
   * @returns the outcome, once the other one has begun.
   * @throws Error that says why it has not.
   */
  rediscover(deviceId: string): Promise<{ readonly done: Promise<RemoteDiscovery>; readonly forget: () => void }>;
  /** Gives all devices to the others. */
  stop(): Promise<void>;
}
