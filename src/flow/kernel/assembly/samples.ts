// Writes the lines of samples: each is a list of steps, which were chosen by what is in it, with their numbers and places.
import * as L from "../layout";
import {
  beginAddresses,
  beginRecord,
  endAddresses,
  endRecord,
} from "./addresses";
import { hashSlot, prefetchSlots, prefetchTexts } from "./address-search";
import { listMissing, listsMissing, locateMissing } from "./missing-addresses";
import { beginDigests, writeDigests } from "./community-id";
import { forgetNoted } from "./noted";
import { isLineWanted } from "./filter";
import { beginAdditions, countAdditions, unwanted, writeRest } from "./rest";
import { noteSeen } from "./seen-flows";
import { clearSlots } from "./slots";
import { writeSteps } from "./steps";
import { copyLong } from "./values";

export function prefetchSamples(first: i32, end: i32): void {
  if (!beginAddresses(load<u32>(L.addressControl))) return;
  let position = 0;
  for (let i = first; i < end; i++) {
    const block: usize = L.samples + L.sampleBlock * i;
    const length = load<u32>(block, L.sampleAddressLength);
    if (length == 0) continue;
    hashSlot(0, load<u32>(block, L.sampleSource), length == 16, position);
    hashSlot(1, load<u32>(block, L.sampleDestination), length == 16, position);
    position++;
  }
  const sum = prefetchSlots(0, position) + prefetchSlots(1, position);
  store<u32>(L.prefetchedSum, sum + prefetchTexts(0, position) + prefetchTexts(1, position));
  if (!listsMissing()) return;
  for (let i = first; i < end; i++) {
    const block: usize = L.samples + L.sampleBlock * i;
    const length = load<u32>(block, L.sampleAddressLength);
    if (length == 0) continue;
    listMissing(0, load<u32>(block, L.sampleSource), length == 16);
    listMissing(1, load<u32>(block, L.sampleDestination), length == 16);
  }
  locateMissing();
}

export function writeSamples(first: i32, end: i32, out: usize, limit: usize): i32 {
  const hasAddresses = beginAddresses(load<u32>(L.addressControl));
  let p = out;
  let i = first;
  let lines = 0;
  let status: i32 = L.isDone;
  beginDigests();
  for (; i < end; i++) {
    const block: usize = L.samples + L.sampleBlock * i;
    if (p + load<u32>(block, L.sampleRoom) > limit) {
      status = L.isFull;
      break;
    }
    let line = p;
    const headLength = load<i32>(block, L.sampleHeadLength);
    copyLong(line, load<u32>(block, L.sampleHead), headLength);
    line += headLength;
    clearSlots();
    beginRecord();
    forgetNoted();
    line = writeSteps(line, load<u32>(block, L.sampleSteps), load<u32>(block, L.sampleStepsEnd));
    store<f64>(L.rate, load<f64>(block, L.sampleRate));
    store<u64>(L.takenNames, 0);
    beginAdditions();
    line = writeRest(line, hasAddresses, p + headLength, 0);
    if (line == 0) {
      noteSeen();
      status = L.isLeft;
      break;
    }
    if (line == unwanted) continue;
    store<u16>(line, 0x0a7d);
    if (!isLineWanted(p, line + 2)) continue;
    noteSeen();
    lines++;
    endRecord();
    countAdditions();
    p = line + 2;
  }
  writeDigests();
  endAddresses();
  store<u32>(L.resultEnd, <u32>p);
  store<u32>(L.resultCount, i);
  store<u32>(L.resultLines, lines);
  return status;
}
