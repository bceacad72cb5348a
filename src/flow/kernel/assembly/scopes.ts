import * as L from "../layout.gen";
import { chooseScope, slot } from "./memory";

// In which scopes of the metadata both ends of a flow are. The other side says it of an exporter's VRF, interface and VLAN once; it is kept in
// cells by these.

const objectBits: u32 = 3;
/** What stands for the scope of an end until it is known: that of the record before, which is right for nearly all. */
let sourceScope: u32 = 0;
let destinationScope: u32 = 0;

/** An object of the record with its scope above. */
@inline
export function placeOf(object: i32): i32 {
  return object | <i32>((object == 0 ? sourceScope : destinationScope) << objectBits);
}

/** The value of a slot on the way out, or in where that has none. */
@inline
function either(out: i64, input: i64, hasZero: bool): i64 {
  return out == L.isAbsent || (out == 0 && !hasZero) ? input : out;
}

@inline
function cellAt(cell: u32): usize {
  return L.scopeTable + L.scopeCell * <usize>(cell & (L.scopeCells - 1));
}

/** The scope of an end. @param isOwn whether the record brought names itself, which are no others' then. */
function choose(object: i32, vrf: i64, netif: i64, vlan: i64, isOwn: bool, fieldsAt: usize, p: usize): u32 {
  const isKept = !isOwn && vrf >= -1 && vrf <= 0xffff_ffff && netif >= -1 && netif <= 0xffff_ffff && vlan >= -1 && vlan <= 0xffff;
  if (!isKept) return chooseScope(object, <i32>fieldsAt, <i32>p);
  const first = <u64>(vrf + 1) | (<u64>load<u32>(L.scopeExporter) << 33);
  const second = <u64>(netif + 1) | (<u64>(vlan + 1) << 33);
  const hash = (first * 0x9e3779b97f4a7c15) ^ (second * 0xc2b2ae3d27d4eb4f);
  const home = <u32>(hash >>> 52);
  for (let i = 0; i < L.scopeProbes; i++) {
    const at = cellAt(home + i);
    if (load<u64>(at, L.scopeFirst) == first && load<u64>(at, L.scopeSecond) == second) return load<u32>(at, L.scopeNumber);
  }
  const scope = chooseScope(object, <i32>fieldsAt, <i32>p);
  // Cells of names that are others now are not told apart: any of them may go.
  const at = cellAt(home + <u32>(hash & (L.scopeProbes - 1)));
  store<u64>(at, first, L.scopeFirst);
  store<u64>(at, second, L.scopeSecond);
  store<u32>(at, scope, L.scopeNumber);
  return scope;
}

/** Whether there are scopes; without them no end is in one. */
@inline
export function hasScopes(): bool {
  return load<u32>(L.scopeExporter) != 0;
}

/** Begins records that may be in scopes, or may not any more. */
export function beginScopes(): void {
  if (hasScopes()) return;
  sourceScope = 0;
  destinationScope = 0;
}

/**
 * Finds the scopes of both ends. A call of its own: within the rest of a line it would cost registers where there are no scopes.
 *
 * @param taken a bit for each name that the record brought itself. @param fieldsAt where the fields of the line begin, @param p where they end.
 */
export function findScopes(taken: u64, fieldsAt: usize, p: usize): void {
  const isOwn = (taken & load<u64>(L.scopeNames)) != 0;
  const vrf = slot(load<u8>(L.vrfInSlot));
  const netif = either(slot(load<u8>(L.trafficInSlot)), L.isAbsent, false);
  const vlan = either(slot(L.sourceVlanSlot), L.isAbsent, false);
  sourceScope = choose(0, vrf, netif, vlan, isOwn, fieldsAt, p);
  const outVrf = either(slot(load<u8>(L.vrfOutSlot)), vrf, true);
  const outNetif = either(slot(load<u8>(L.trafficOutSlot)), netif, false);
  const outVlan = either(slot(L.destinationVlanSlot), vlan, false);
  const isSame = outVrf == vrf && outNetif == netif && outVlan == vlan && !isOwn;
  destinationScope = isSame ? sourceScope : choose(1, outVrf, outNetif, outVlan, isOwn, fieldsAt, p);
}
