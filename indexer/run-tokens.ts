import type { Db } from '../shared/db/connect.ts'
import { pause } from '../shared/async/pause.ts'
import { messageOf, RetryableError } from '../shared/errors.ts'
import type { Logger } from '../shared/log.ts'
import { Repeats } from '../shared/repeats.ts'
import { getUnreadTokens, putSymbol } from './event-log/tokens.ts'

interface TokenRun {
  network: string
  networkId: string
  db: Db
  log: Logger
  signal: AbortSignal
}

const LOOK_AGAIN_MS = 2_000
const TOKENS_AT_ONCE = 20

/**
 * Reads the symbols of tokens that loans name, beside the reader of an EVM network, until `signal` aborts. Tokens are
 * asked one by one: what one of them does is its own. Never rejects: it logs a failure and tries again.
 */
export async function runTokens(
  { network, networkId, db, log, signal }: TokenRun,
  readSymbol: (token: string) => Promise<string | null>,
): Promise<void> {
  const failures = new Repeats({ write: (line) => log.warn({ network }, line) })
  while (!signal.aborted) {
    try {
      for (const token of await getUnreadTokens(db, networkId, TOKENS_AT_ONCE)) {
        if (isAborted(signal)) return
        const read = await tryToRead(token, readSymbol)
        await putSymbol(db, networkId, { token, ...read })
      }
    } catch (error) {
      if (!isAborted(signal)) failures.note(`reading the symbols of tokens: ${messageOf(error)}`)
    }
    await pause(LOOK_AGAIN_MS, signal)
  }
}

async function tryToRead(
  token: string,
  readSymbol: (token: string) => Promise<string | null>,
): Promise<{ symbol: string | null; answered: boolean }> {
  try {
    return { symbol: await readSymbol(token), answered: true }
  } catch (error) {
    if (error instanceof RetryableError) return { symbol: null, answered: false }
    throw error
  }
}

/** Works around TypeScript's narrowing of `signal.aborted`. */
function isAborted(signal: AbortSignal): boolean {
  return signal.aborted
}
