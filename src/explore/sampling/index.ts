/** A second door, for the threads that decode: they would load the store with the first one. */
export { LineSampler, type SampledLines } from "./line-sampler.ts";
export {
  createSamplingMemory,
  lostRecords,
  SamplingJudge,
  setOpen,
  type SamplingMemory,
  type SamplingRates,
} from "./sampling-judge.ts";
