import { useEffect, useState } from 'preact/hooks'
import { ask } from '../../lib/api.ts'
import { pause } from '../../lib/use-answer.ts'
import type { LoanModel } from '../loan/loan-model.ts'
import { askNext } from '../loan/lookup.ts'
import { isEnded } from '../loan/protocol-steps.ts'
import { keyOf, type SeenNext } from './account-model.ts'

const EVERY_MS = 8000
const AT_ONCE = 4

/** Returns the next actions by the key of each loan, and asks again while the view is shown. */
export function useNexts(loans: readonly LoanModel[]): ReadonlyMap<string, SeenNext> {
  const [known, setKnown] = useState<ReadonlyMap<string, SeenNext>>(new Map())
  // Loans that have ended can still have channels to pay out, which is less urgent.
  const asked = [...loans].sort((a, b) => Number(isEnded(a.step)) - Number(isEnded(b.step)))
  useEffect(() => {
    const stopped = new AbortController()
    void follow(asked, stopped.signal, (key, seen) => setKnown((before) => new Map(before).set(key, seen)))
    return () => stopped.abort()
  }, [asked.map(keyOf).join()])
  return known
}

async function follow(
  loans: readonly LoanModel[],
  stop: AbortSignal,
  tell: (key: string, seen: SeenNext) => void,
): Promise<void> {
  while (!stop.aborted) {
    const queue = [...loans]
    const work = async (): Promise<void> => {
      for (let loan = queue.shift(); loan !== undefined && !stop.aborted; loan = queue.shift()) {
        try {
          const { data } = await ask(askNext(loan.market, loan.id), stop)
          tell(keyOf(loan), { next: data.payload, seenAt: Date.now() })
        } catch {
          // A failure shows in the page's news; the next round asks again.
        }
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, work))
    await pause(EVERY_MS, stop)
  }
}
