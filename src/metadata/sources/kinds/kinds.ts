import { cloudKinds } from "./clouds.ts";
import { infoblox } from "./infoblox.ts";
import { kubernetes } from "./kubernetes.ts";
import { leaseKinds } from "./leases.ts";
import { list } from "./list.ts";
import { netbox } from "./netbox.ts";
import { phpipam } from "./phpipam.ts";
import { rowKinds } from "./rows.ts";
import type { SourceKind } from "./source-kind.ts";

/** All kinds of sources, by the name that the file has. */
export const sourceKinds: Readonly<Record<string, SourceKind>> = {
  ...rowKinds,
  netbox,
  phpipam,
  infoblox,
  ...cloudKinds,
  list,
  kubernetes,
  ...leaseKinds,
};
