/** The rules by which a client is found, in their order; the number of each in the layout is one more than its position. */
export const roleMethods = [
  "biflow_direction",
  "initiator",
  "event",
  "tcp_syn",
  "icmp_type",
  "learnt",
  "port",
] as const;
export type RoleMethod = (typeof roleMethods)[number];

/** Fields that are there of source and destination, and of both together; the number of each is one more than its position. */
export const joinedFields = [
  "as.label",
  "geo.city.name",
  "geo.country.name",
  "ip.subnet.tags",
  "sec.threat.name",
] as const;
export type JoinedField = (typeof joinedFields)[number];
