/** A second door, for the decoding threads: the first one would load the store in them. */
export { LineSampler, type SampledLines } from "./line-sampler.ts";
export {
  createSamplingMemory,
  lostRecords,
  SamplingJudge,
  setOpen,
  type SamplingMemory,
  type SamplingRates,
} from "./sampling-judge.ts";
