import t from 'tap'
import { dueActions } from '../../../../indexer/webhooks/due-soon.evolve.ts'
import { isActionWanted, messageOfAction } from '../../../../indexer/webhooks/message.ts'
import type { LoanAction } from '../../../../shared/loan-life/actions.ts'
import {
  channelOf,
  CLOCKS,
  EPOCH,
  erc20Life,
  linked,
  NOW_S,
  settledAt,
  voucherOf,
} from '../../../helpers/loan-lives.ts'

const HOUR_MS = 3_600_000
const NOW_MS = NOW_S * 1000
/** Its payback ends in an hour. */
const LIFE = erc20Life({ contractState: '2' })

const names = (due: ReturnType<typeof dueActions>): string[] => due.map(({ action }) => action.action)

void t.test('an action is due from some hours before its last moment until that moment', (t) => {
  const cases: [nowMs: number, hours: number, due: string[]][] = [
    [NOW_MS, 1, ['payback']],
    [NOW_MS - HOUR_MS, 1, ['payback']],
    [NOW_MS + HOUR_MS, 1, ['payback']],
    [NOW_MS + HOUR_MS + 1, 1, []],
  ]
  for (const [nowMs, hours, due] of cases) t.same(names(dueActions(LIFE, nowMs, hours)), due, `${nowMs}`)
  const later = erc20Life({ loanExpirationS: BigInt(NOW_S + 3601) })
  t.same(dueActions(later, NOW_MS, 1), [])
  t.same(names(dueActions(later, NOW_MS + 1000, 1)), ['payback'], 'our clock can be ahead of the chain’s')
  t.same(names(dueActions(later, NOW_MS - HOUR_MS, 2)), ['payback'])
  t.same(dueActions(later, NOW_MS - HOUR_MS, 1), [], 'a chain’s clock can be ahead of ours')
  t.end()
})

void t.test('an epoch counts by its time, and what has no end is never due', (t) => {
  const channel = channelOf({
    vouchers: [voucherOf('from')],
    settlement: settledAt(EPOCH + 121),
  })
  const life = erc20Life({ contractState: '4', secretA1: '0xaa', channels: [linked('collateral', channel)] })
  t.same(names(dueActions(life, NOW_MS, 1)), ['redeemSeizeVoucher'])
  t.same(dueActions(life, NOW_MS - 1, 0.9), [])
  t.same(dueActions(erc20Life({ contractState: '0' }), NOW_MS, 720), [])
  t.end()
})

void t.test('filters of markets and networks hold for actions, and those of events do not', (t) => {
  const cases: [Parameters<typeof isActionWanted>[0], boolean][] = [
    [{}, true],
    [{ loanTypes: ['ERC20FIL'], networks: ['evm:1'] }, true],
    [{ loanTypes: ['FILERC20'] }, false],
    [{ networks: ['filecoin:mainnet'] }, false],
  ]
  for (const [filters, wanted] of cases)
    t.equal(isActionWanted(filters, { loanType: 'ERC20FIL', action: { chain: 'evm:1' } }), wanted)
  t.end()
})

void t.test('the id follows from the deadline, and not from the blocks that pass', (t) => {
  const [due] = dueActions(LIFE, NOW_MS, 1)
  if (due === undefined) throw new Error('nothing is due')
  const id = (action: LoanAction): string =>
    messageOfAction({ loanType: 'ERC20FIL', loanId: '1' }, action, { position: 1, at: new Date(0) }).id
  const clocks = CLOCKS.map((clock) => ({ ...clock, height: clock.height + 1, timeS: clock.timeS + 13 }))
  const [next] = dueActions({ ...LIFE, clocks }, NOW_MS, 1)
  const [moved] = dueActions(erc20Life({ loanExpirationS: BigInt(NOW_S + 3599) }), NOW_MS, 1)
  if (next === undefined || moved === undefined) throw new Error('nothing is due')
  t.not(
    JSON.stringify(next.action.notAfter),
    JSON.stringify(due.action.notAfter),
    'the block is estimated anew',
  )
  t.equal(id(next.action), id(due.action))
  t.not(id(moved.action), id(due.action))
  t.not(id({ ...due.action, actor: 'lender' }), id(due.action))
  t.end()
})
