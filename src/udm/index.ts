export {
  udmFields,
  type UdmContext,
  type UdmEntry,
  type UdmField,
  type UdmFileOnly,
  type UdmValues,
} from "./udm-entry.ts";
export { maxViolations, UdmError, type UdmErrorCode, type UdmViolation } from "./udm-error.ts";
export type { UdmEdit, UdmIndex } from "./udm-index.ts";
export type { UdmStore, UdmWrite } from "./udm-store.ts";
