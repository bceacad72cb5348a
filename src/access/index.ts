export { AccessFileError, parseAccessFile, type AccessList, type AccessToken, type AccessUser } from "./access-file.ts";
export { createToken, isTokenName } from "./api-token.ts";
export { createFailureLimit, type FailureLimit } from "./failure-limit.ts";
export { createIdentities, type Identities } from "./identities.ts";
export { hashPassword } from "./password-hash.ts";
export { areas, lacks, roles, suffices, type Area, type Principal, type Role } from "./role.ts";
export { editAccessFile, type AccessFields, type AccessSection } from "./access-edit.ts";
