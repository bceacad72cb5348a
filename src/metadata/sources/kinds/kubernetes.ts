import type { SourceReader } from "../source-reader.ts";
import { SourceFault } from "../source-config.ts";
import { at, listAt, mapOf, minutes, optionOf, type SourceKind } from "./source-kind.ts";

type KubernetesObject = Readonly<Record<string, unknown>>;

const pageSize = 500;

/** Reads the pods and services of a cluster by its API. Pods in the host network are left out, because their address is the node's. */
export const kubernetes: SourceKind = {
  place: "url",
  options: ["objects", "namespaces", "labels"],
  intervalMs: minutes,
  isPaged: true,
  // The number of pods changes often.
  maxShrink: 1,
  tokenScheme: "Bearer",
  map: mapOf(
    [
      ["addresses", "key"],
      ["name", "name"],
      ["namespace", "metadata:.k8s.namespace.name"],
      ["pod", "metadata:.k8s.pod.name"],
      ["service", "metadata:.k8s.service.name"],
      ["node", "metadata:.k8s.node.name"],
      ["labels", "tags"],
    ],
    { duplicates: "last" },
  ),
  check(config) {
    const unknown = optionOf(config, "objects").find((name) => name !== "pods" && name !== "services");
    return unknown === undefined ? undefined : `objects has ${unknown}: expected pods, services`;
  },
  async read({ config, reader }) {
    const objects = optionOf(config, "objects", ["services", "pods"]);
    const namespaces = optionOf(config, "namespaces");
    const wanted = optionOf(config, "labels");
    const rows: unknown[] = [];
    for (const kind of objects) {
      const paths = namespaces.map((namespace) => `/api/v1/namespaces/${encodeURIComponent(namespace)}/${kind}`);
      for (const path of paths.length === 0 ? [`/api/v1/${kind}`] : paths) {
        for (const object of await readAll(reader, path)) {
          const row = kind === "pods" ? podRow(object) : serviceRow(object);
          if (row !== undefined) rows.push({ ...row, ...common(object, wanted) });
        }
      }
    }
    return { rows };
  },
};

/** Reads a list in chunks. If the continue token expires, the list is read again from the start, once. */
async function readAll(reader: SourceReader, path: string): Promise<readonly KubernetesObject[]> {
  for (let tries = 0; ; tries++) {
    const all: KubernetesObject[] = [];
    let token: unknown = "";
    do {
      const more: string = typeof token === "string" && token !== "" ? `&continue=${encodeURIComponent(token)}` : "";
      const page: unknown = await reader.json(`${path}?limit=${pageSize}${more}`, { accepted: [410] });
      if (at(page, "code") === 410) break;
      const items = listAt(page, "items");
      if (items === undefined) throw new SourceFault("content", `${path} answers no list`);
      all.push(...items);
      token = at(page, "metadata", "continue") ?? "";
      if (token === "") return all;
    } while (token !== "");
    if (tries > 0) throw new SourceFault("partial", `the list ${path} changes faster than it can be read`);
  }
}

function podRow(pod: KubernetesObject): KubernetesObject | undefined {
  const phase = at(pod, "status", "phase");
  if (at(pod, "spec", "hostNetwork") === true || phase === "Succeeded" || phase === "Failed") return undefined;
  const addresses = (listAt(pod, "status", "podIPs") ?? []).map(({ ip }) => ip);
  const single = at(pod, "status", "podIP");
  const all = addresses.length === 0 && typeof single === "string" ? [single] : addresses;
  if (all.length === 0) return undefined;
  return { addresses: all, pod: at(pod, "metadata", "name"), node: at(pod, "spec", "nodeName") };
}

function serviceRow(service: KubernetesObject): KubernetesObject | undefined {
  const texts = (list: unknown): unknown[] => (Array.isArray(list) ? (list as unknown[]) : []);
  const balancers = (listAt(service, "status", "loadBalancer", "ingress") ?? []).map(({ ip }) => ip);
  const all = [
    ...texts(at(service, "spec", "clusterIPs") ?? [at(service, "spec", "clusterIP")]),
    ...texts(at(service, "spec", "externalIPs")),
    ...balancers,
  ];
  const addresses = all.filter((address) => typeof address === "string" && address !== "None" && address !== "");
  return addresses.length === 0 ? undefined : { addresses, service: at(service, "metadata", "name") };
}

function common(object: KubernetesObject, wanted: readonly string[]): KubernetesObject {
  const labels = at(object, "metadata", "labels");
  return {
    name: at(object, "metadata", "name"),
    namespace: at(object, "metadata", "namespace"),
    labels: wanted.flatMap((name) => {
      const value = at(labels, name);
      return typeof value === "string" && value !== "" ? [`${name}=${value}`] : [];
    }),
  };
}
