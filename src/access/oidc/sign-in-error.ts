/**
 * Why a sign-in came to nothing. `refused`: the browser, or what the issuer says of the user, does not suffice. `unavailable`: the
 * issuer cannot be asked, or does not accept the collector. `busy`: too many sign-ins at a time. The message is fit for the user.
 */
export class SignInError extends Error {
  readonly code: "refused" | "unavailable" | "busy";

  constructor(code: SignInError["code"], message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "SignInError";
    this.code = code;
  }
}
