import { MibFault } from "../mib-fault.ts";
import type { ModuleLibrary } from "../library/module-library.ts";
import type { MibModule, NodeDefinition, OidStep } from "../syntax/mib-module.ts";

/** The arcs that no module defines. */
const roots: Readonly<Record<string, number>> = {
  ccitt: 0,
  zeroDotZero: 0,
  iso: 1,
  "joint-iso-ccitt": 2,
  "joint-iso-itu-t": 2,
};

/** SMIv1's generic traps have OIDs of their own (RFC 3584, 3.1). */
const genericTraps = ".1.3.6.1.6.3.1.1.5";

/** OIDs of nodes as texts with a leading dot. */
export class OidResolver {
  readonly #library: ModuleLibrary;
  readonly #known = new Map<NodeDefinition, string | undefined>();

  constructor(library: ModuleLibrary) {
    this.#library = library;
  }

  /** @returns undefined for a node whose value is no OID. @throws MibFault */
  resolve(module: MibModule, node: NodeDefinition): string | undefined {
    if (this.#known.has(node)) {
      const known = this.#known.get(node);
      if (known === "") throw new MibFault(`the OID of ${node.name} leads back to itself`, module.source, node.at);
      return known;
    }
    this.#known.set(node, "");
    let oid: string | undefined;
    try {
      oid = node.trapNumber === undefined ? this.#ofSteps(module, node) : this.#ofTrap(module, node, node.trapNumber);
    } catch (error) {
      this.#known.delete(node);
      throw error;
    }
    this.#known.set(node, oid);
    return oid;
  }

  #ofSteps(module: MibModule, { oid }: NodeDefinition): string | undefined {
    if (oid === undefined) return undefined;
    const [first, ...rest] = oid as readonly [OidStep, ...OidStep[]];
    let text = this.#ofFirst(module, first, rest.length === 0);
    for (const { name, number, at } of rest) {
      if (number === undefined) throw new MibFault(`${String(name)} has no number here`, module.source, at);
      text += `.${number}`;
    }
    return text;
  }

  #ofFirst(module: MibModule, { name, number, at }: OidStep, isAlone: boolean): string {
    if (number !== undefined) return `.${number}`;
    const root = roots[String(name)];
    if (root !== undefined && !(isAlone && module.nodes.has(String(name)))) return `.${root}`;
    return this.#ofName(module, String(name), at);
  }

  #ofName(module: MibModule, name: string, at: number): string {
    const found = this.#library.findNode(module, name, at);
    const oid = this.resolve(found.module, found.definition);
    if (oid === undefined) throw new MibFault(`${name} is no OID`, module.source, at);
    return oid;
  }

  #ofTrap(module: MibModule, { enterprise, at }: NodeDefinition, number: number): string {
    if (enterprise === undefined) throw new MibFault("a trap without ENTERPRISE", module.source, at);
    const above = this.#ofName(module, enterprise.name, enterprise.at);
    return above === ".1.3.6.1.2.1.11" ? `${genericTraps}.${number + 1}` : `${above}.0.${number}`;
  }
}
