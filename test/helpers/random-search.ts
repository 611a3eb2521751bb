import { RECORD_EVENTS } from '../../shared/events/record-events.ts'
import type { seededRandom } from './random-chain.ts'

/** Parameters are taken from what a client has seen. */
interface Known {
  ids: string[]
  times: string[]
  txHashes: string[]
  accounts: string[]
  loanIds: string[]
}

/** A search of `/api/activity`: mostly with few parameters, so that most find something. */
export function randomSearch(random: ReturnType<typeof seededRandom>, known: Known): string {
  const query = new URLSearchParams({ limit: String(1 + random.below(12)) })
  const add = (name: string, values: readonly string[], chance: number, most = 1): void => {
    if (values.length === 0 || !random.chance(chance)) return
    const given = Array.from({ length: 1 + random.below(most) }, () => values[random.below(values.length)])
    for (const value of given) query.append(name, value ?? '')
  }
  add('before', known.ids, 0.3)
  add('after', random.chance(0.5) ? known.ids : ['1'], 0.4)
  add('loanType', ['ERC20FIL', 'FILERC20'], 0.2)
  add('event', RECORD_EVENTS, 0.2, 12)
  add('loanId', known.loanIds, 0.2, 3)
  add('account', known.accounts, 0.25, 2)
  add('txHash', known.txHashes, 0.15, 5)
  const [from, to] = [0, 1].map(() => known.times[random.below(known.times.length)]).sort()
  if (from !== undefined) add('from', [from], 0.2)
  if (to !== undefined) add('to', [to], 0.2)
  return `/api/activity?${query.toString()}`
}
