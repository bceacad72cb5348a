import { selectRecords, splitBatch, type Batch } from "./batch.ts";
import { DeliveryError } from "./output-adapter.ts";
import type { Outcome, Refusal } from "./output-adapter.ts";

/** A part of a batch that is still to be sent, with the evidence against its records. */
export interface Part {
  readonly batch: Batch;
  /** Counts its failures while the store took other records. A fault that seems the store's counts as a fraction. */
  readonly strikes: number;
  /** The number of records that the store had taken at its last failure; undefined: it has not failed. */
  readonly takenBefore: number | undefined;
}

export const newPart = (batch: Batch): Part => ({ batch, strikes: 0, takenBefore: undefined });

/** The consequences of an answer for a part. */
export interface Judgement {
  /** The number of records that the store has now. */
  readonly taken: number;
  /** Records that become dead letters, by their indexes in the part. */
  readonly letters: readonly Refusal[];
  /** Parts to be sent again, in this order. */
  readonly left: readonly Part[];
  /** Why it has to wait; undefined: it need not. */
  readonly fault: DeliveryError | undefined;
  /** True if it waits because its records are suspected. Others go first, which may clear the store. */
  readonly isSuspect: boolean;
  /** True if the store seems to take nothing, or a fault that an operator must mend keeps records from it. */
  readonly isHeld: boolean;
}

/** Strikes at which a batch is halved if one of its records may cause the store's fault, and at which a single record is set aside. */
const strikesToHalve = 2;
const strikesToSetAside = 3;
/** The strike for a fault attributed to the store. A record may also cause a proxy's 502 or a crash that cuts the connection. */
const strikeOfStore = 0.3;

/**
 * Judges the answer of a store, for all outputs.
 *
 * Records are never at fault while a store takes nothing, whatever it says. A record is refused only when the store has
 * taken others of the same request, or others between two tries of this one. A record without others is refused when it
 * has waited long enough for them.
 *
 * @param taken the number of records that the store has taken so far, of all batches.
 * @param hasWaited true for a single record without others that the store has refused again and again.
 */
export function judge(part: Part, answer: Outcome | DeliveryError, taken: number, hasWaited: boolean): Judgement {
  return answer instanceof DeliveryError
    ? judgeFailure(part, answer, taken, hasWaited)
    : judgeOutcome(part, answer, taken, hasWaited);
}

function judgeFailure(part: Part, error: DeliveryError, taken: number, hasWaited: boolean): Judgement {
  const { batch } = part;
  const nothing = { taken: 0, letters: [], isSuspect: false, isHeld: false };
  const isHeld = part.takenBefore === taken;
  const { blame, message } = error;
  const isCleared = hasTakenOthers(part, taken);
  const strike = blame === "store" ? strikeOfStore : 1;
  const again = { batch, takenBefore: taken, strikes: part.strikes + (isCleared ? strike : 0) };
  if (blame === "record") {
    if (batch.count > 1) {
      const takenBefore = part.takenBefore ?? taken;
      return { ...nothing, left: halvesOf(batch, takenBefore, 0), fault: undefined };
    }
    if (isCleared || hasWaited)
      return { ...nothing, letters: [{ index: 0, reason: message }], left: [], fault: undefined };
    return { ...nothing, left: [again], fault: error, isSuspect: true, isHeld };
  }
  if (blame === "unclear" || (blame === "store" && again.strikes >= strikesToHalve)) {
    if (error.isWhole) return { ...nothing, left: [again], fault: error, isSuspect: true, isHeld };
    if (batch.count > 1 && again.strikes >= strikesToHalve) {
      return { ...nothing, left: halvesOf(batch, taken, strikesToHalve - strike), fault: undefined };
    }
    if (batch.count === 1 && again.strikes >= strikesToSetAside) {
      return { ...nothing, letters: [{ index: 0, reason: message }], left: [], fault: undefined };
    }
    return { ...nothing, left: [again], fault: error, isSuspect: true, isHeld };
  }
  return { ...nothing, left: [blame === "store" ? again : part], fault: error, isHeld: true };
}

function judgeOutcome(part: Part, outcome: Outcome, takenSoFar: number, hasWaited: boolean): Judgement {
  const { batch } = part;
  const { refused, retry, unclear = [], tookOthers = false } = outcome;
  const taken = batch.count - refused.length - retry.length;
  const isHeld = part.takenBefore === takenSoFar && taken === 0 && !tookOthers;
  const isCleared = taken > 0 || tookOthers || hasTakenOthers(part, takenSoFar);
  const strikes = part.strikes + Number(isCleared);
  const takenBefore = takenSoFar + taken;
  const isRefused = isCleared || hasWaited;
  const letters: Refusal[] = isRefused ? [...refused] : [];
  const left: Part[] = [];
  const keep = (indexes: readonly number[], known: Omit<Part, "batch">): void => {
    if (indexes.length > 0) left.push({ batch: selectRecords(batch, indexes), ...known });
  };
  const doubted = new Set(unclear.map(({ index }) => index));
  keep(
    retry.filter((index) => !doubted.has(index)),
    { strikes: 0, takenBefore: undefined },
  );
  const isRest = left.length > 0;
  if (strikes >= strikesToSetAside) letters.push(...unclear);
  else keep([...doubted].toSorted(ascending), { strikes, takenBefore });
  if (!isRefused) keep(refused.map(({ index }) => index).toSorted(ascending), { strikes, takenBefore });
  const [suspect] = [...unclear, ...refused];
  const blame = unclear.length > 0 ? "unclear" : "record";
  const said = suspect === undefined ? undefined : new DeliveryError(blame, "refused", suspect.reason);
  const fault = outcome.fault ?? (isRest ? busy : said);
  return {
    taken,
    letters: letters.toSorted((a, b) => a.index - b.index),
    left,
    fault: left.length === 0 ? undefined : fault,
    isSuspect: left.length > 0 && !isRest,
    isHeld: isHeld || (isRest && (taken === 0 || outcome.fault?.blame === "operator")),
  };
}

const busy = new DeliveryError("store", "busy", "the store takes no records at present");
const ascending = (a: number, b: number): number => a - b;

/** Reports whether the store has taken something since the last failure. */
function hasTakenOthers({ takenBefore }: Part, taken: number): boolean {
  return takenBefore !== undefined && taken > takenBefore;
}

/** @param strikes of halves that are batches: one more strike halves them again. */
function halvesOf(batch: Batch, takenBefore: number, strikes: number): readonly Part[] {
  return splitBatch(batch).map((half) => ({ batch: half, strikes: half.count > 1 ? strikes : 0, takenBefore }));
}
