import { useEffect, useState } from "preact/hooks";
import { setShownZone, shownZone, zoneNamed } from "../format/zone.ts";

const key = "netgloss.zone";
const listeners = new Set<() => void>();

/** Puts the zone that this browser keeps to use; before the first drawing. */
export function applyZone(): void {
  setShownZone(zoneNamed(localStorage.getItem(key) ?? ""));
}

/** Shows times in a zone from now on, on all pages; undefined is the zone of the browser. */
export function chooseZone(zone: string | undefined): void {
  if (zone === undefined) localStorage.removeItem(key);
  else localStorage.setItem(key, zone);
  applyZone();
  for (const listener of listeners) listener();
}

/** The zone that is shown: what uses it is drawn again when it changes. */
export function useZone(): string {
  const [zone, setZone] = useState(shownZone);
  useEffect(() => {
    const listener = (): void => setZone(shownZone());
    listeners.add(listener);
    listener();
    return () => void listeners.delete(listener);
  }, []);
  return zone;
}
