import * as L from "../layout.gen";
import { chooseScope, slot } from "./memory";

// In which scopes of the metadata both ends of a flow are. The other side says it of an exporter's VRF, interface and VLAN once; it is kept in
// cells by these.

const objectBits: u32 = 3;
/** The scopes of both ends; until those are known, what the fields of the record say, else those of the record before. */
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

@inline
function firstOf(vrf: i64): u64 {
  return <u64>(vrf + 1) | (<u64>load<u32>(L.scopeExporter) << 33);
}

@inline
function secondOf(netif: i64, vlan: i64): u64 {
  return <u64>(netif + 1) | (<u64>(vlan + 1) << 33);
}

@inline
function hashOf(first: u64, second: u64): u64 {
  return (first * 0x9e3779b97f4a7c15) ^ (second * 0xc2b2ae3d27d4eb4f);
}

@inline
function homeOf(hash: u64): u32 {
  return <u32>(hash >>> (64 - L.scopeHashBits));
}

/** The cell of a side, 0 when it has none. */
function findCell(first: u64, second: u64, home: u32): usize {
  for (let i = 0; i < L.scopeProbes; i++) {
    const at = cellAt(home + i);
    if (load<u64>(at, L.scopeFirst) == first && load<u64>(at, L.scopeSecond) == second) return at;
  }
  return 0;
}

/** A cell for a further side. Cells of names that are others now are not told apart: where none is free any may go. */
function freeCell(home: u32, hash: u64): usize {
  for (let i = 0; i < L.scopeProbes; i++) {
    const at = cellAt(home + i);
    if (load<u64>(at, L.scopeFirst) == 0) return at;
  }
  return cellAt(home + <u32>(hash & (L.scopeProbes - 1)));
}

/** The scope of an end. @param isOwn whether the record brought names itself, which are no others' then. */
function choose(object: i32, vrf: i64, netif: i64, vlan: i64, isOwn: bool, fieldsAt: usize, p: usize): u32 {
  const isKept = !isOwn && vrf >= -1 && vrf <= 0xffff_ffff && netif >= -1 && netif <= 0xffff_ffff && vlan >= -1 && vlan <= 0xffff;
  if (!isKept) return chooseScope(object, <i32>fieldsAt, <i32>p);
  const first = firstOf(vrf);
  const second = secondOf(netif, vlan);
  const hash = hashOf(first, second);
  const known = findCell(first, second, homeOf(hash));
  if (known != 0) return load<u32>(known, L.scopeNumber);
  const scope = chooseScope(object, <i32>fieldsAt, <i32>p);
  const at = freeCell(homeOf(hash), hash);
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

/** What a record has at one of the places in `programSides`. */
function numberAt(program: usize, side: i32, record: usize): i64 {
  const place = program + L.programSides + 4 * side;
  const at = record + load<u16>(place);
  switch (load<u16>(place, 2)) {
    case 1:
      return load<u8>(at);
    case 2:
      return bswap(load<u16>(at));
    case 4:
      return bswap(load<u32>(at));
    default:
      return L.isAbsent;
  }
}

@inline
function foresee(vrf: i64, netif: i64, vlan: i64, otherwise: u32): u32 {
  const first = firstOf(vrf);
  const second = secondOf(netif, vlan);
  const cell = findCell(first, second, homeOf(hashOf(first, second)));
  return cell == 0 ? otherwise : load<u32>(cell, L.scopeNumber);
}

/**
 * Says beforehand in which scopes both ends of a record are, by the fields that have one place in all records. A wrong answer costs another
 * look-up of the addresses; {@link findScopes} has the last word.
 */
export function foreseeScopes(program: usize, record: usize): void {
  const vrf = numberAt(program, 0, record);
  const netif = either(numberAt(program, 1, record), L.isAbsent, false);
  const vlan = either(numberAt(program, 2, record), L.isAbsent, false);
  sourceScope = foresee(vrf, netif, vlan, sourceScope);
  const outVrf = either(numberAt(program, 3, record), vrf, true);
  const outNetif = either(numberAt(program, 4, record), netif, false);
  const outVlan = either(numberAt(program, 5, record), vlan, false);
  destinationScope = foresee(outVrf, outNetif, outVlan, destinationScope);
}
