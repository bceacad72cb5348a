import { cloudKinds } from "./clouds.ts";
import { infoblox, netbox, phpipam } from "./ipam.ts";
import { kubernetes } from "./kubernetes.ts";
import { leaseKinds, list, rowKinds } from "./documents.ts";
import type { SourceKind } from "./source-kind.ts";

/** All kinds of sources, by their names in the file. */
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
