/** How a message ends: its receipt's exit code. Below 16 the machine says so, from 16 on the actor. */
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

/** Ends the running call: everything it changed is undone, and its caller learns the code. */
export class ActorExit extends Error {
  override name = 'ActorExit'
  readonly code: ExitCode

  constructor(code: ExitCode, reason: string) {
    super(reason)
    this.code = code
  }
}
