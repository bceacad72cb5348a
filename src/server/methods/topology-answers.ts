import { confidences, evidenceKinds } from "../../snmp/index.ts";
import { choice, described, flag, instant, integer, list, map, object, text } from "./shape.ts";

const port = object(
  { index: integer("Its ifIndex; absent where the device does not say which interface it is."), name: text() },
  "index",
  "name",
);

const end = object(
  {
    device: text("`ip:port` of a polled device; absent for a neighbor that is not polled."),
    name: text(),
    address: text(),
    port,
    aggregate: described(port, "The aggregated interface that the port is a part of."),
  },
  "device",
  "name",
  "address",
  "port",
  "aggregate",
);

const link = object({
  id: text("The same for the same two ports."),
  layer: integer("2 or 3."),
  a: end,
  b: end,
  state: choice(["up", "gone"], "Gone: no table says so any more, for up to a day."),
  confidence: choice(
    confidences,
    "Confirmed: both ends say so, or two facts that do not follow from each other. Likely: one does. Unsure: something speaks against it.",
  ),
  evidence: list(
    object({
      kind: choice(evidenceKinds),
      by: text("The device whose tables say so."),
      at: instant("When they were read"),
    }),
  ),
  doubts: list(text(), "What speaks against it."),
  since: instant("When it was found first"),
  seen: instant("When it was found last"),
});

/** The answer about the links between devices. */
export const topology = object({
  enabled: flag("Whether links are inferred."),
  devices: list(
    object({
      id: text("`ip:port`"),
      ip: text(),
      name: text(),
      metadata: map(text(), "What metadata say of its address, by the name of the field without `system.`"),
    }),
  ),
  links: list(link, "In the order of their ends."),
});

/** The answer about the links of one device. */
export const neighbors = object({
  enabled: flag("Whether links are inferred."),
  links: list(link, "Those with the device at an end, in the order of their ends."),
});

/** The answer about the switch port of an address. */
export const location = object(
  {
    address: text("In its canonical form."),
    device: text("The polled device that has the address itself."),
    macs: list(text(), "The MAC addresses that ARP tables have for it."),
    locations: list(
      object({
        device: text("`ip:port` of the switch."),
        name: text(),
        ip: text(),
        port,
        mac: text(),
        isEdge: flag("Whether no other polled device is known behind the port."),
        addresses: integer("How many MAC addresses were learnt at the port."),
        at: instant("When that was read"),
      }),
      "The most likely first.",
    ),
  },
  "device",
);
