/** A second door, for the threads that decode: they would load the store with the first one. */
export { createLineSampler, type LineSampler } from "./line-sampler.ts";
export {
  createSamplingMemory,
  lostRecords,
  setOpen,
  type SamplingMemory,
  type SamplingRates,
} from "./sampling-judge.ts";
export { createSamplingJudge, type SamplingJudge } from "./sampling-judge.ts";
