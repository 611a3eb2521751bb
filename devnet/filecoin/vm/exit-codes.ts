/** Exit codes of receipts. The machine sets those below 16, the actor those from 16 on. */
export const Exit = {
  ok: 0,
  senderStateInvalid: 2,
  invalidReceiver: 5,
  insufficientFunds: 6,
  outOfGas: 7,
  illegalArgument: 16,
  notFound: 17,
  forbidden: 18,
  nestedInsufficientFunds: 19,
  illegalState: 20,
  undecodable: 21,
  unhandledMethod: 22,
  channelSettled: 32,
} as const

export type ExitCode = number

/** Ends the running call, undoes its changes and passes the code to its caller. */
export class ActorExit extends Error {
  override name = 'ActorExit'
  readonly code: ExitCode

  constructor(code: ExitCode, reason: string) {
    super(reason)
    this.code = code
  }
}
