import type { Insertable } from 'kysely'
import t from 'tap'
import type { ChannelStory } from '../../../devnet/loans/expected-records.ts'
import type { ChannelsTable, LoansTable } from '../../../shared/db/schema.ts'
import { testDatabase } from '../../helpers/database.ts'
import { contested } from '../../helpers/stranded-channels.ts'

const MADE_S = 10_000
const AT = { created_at: new Date(0), updated_at: new Date(0) }
const HASH = `0x${'b1'.repeat(32)}`

const loan = (loan_id: string, agreed_s: number, ended_s: number | null): LoansTable => ({
  ...{ loan_type: 'FILERC20', loan_id, id: Number(loan_id), network: 'evm:1', evm_part: '{}' },
  ...{ derived_state: null, channel_party: null, seized_s: null, fil_borrower: 'f01', fil_lender: 'f02' },
  ...{ named_channel: 'f099', secret_hash_a1: null, secret_hash_b1: HASH, contract_loan_id: loan_id },
  ...{ opened_s: agreed_s - 60, agreed_s, ended_s, last_block: 1, last_log_index: 0, ...AT },
})
type ChannelRow = Insertable<ChannelsTable>
const CHANNEL: ChannelRow = {
  ...{
    network: 'filecoin:t',
    robust: 't2x',
    id: 1,
    state: '{}',
    addresses: ['f2x'],
    parties: ['f01', 'f02'],
  },
  ...{ secret_hashes: [], stated_loans: [], created_s: MADE_S, loan_type: null, loan_id: null, role: null },
  ...{ strength: null, claimants: [], shown: false, part: null, since: 1, ...AT },
}
/** As much of the story of loan 10's payback channel as counts here. */
const STORY = {
  ...{
    role: 'payback',
    robust: 't2x',
    createCid: 'bafy',
    messages: [],
    half: { vouchers: {}, choices: { ways: {} } },
  },
  loan: { market: 'erc20CollateralLock', loanId: 10n },
} as unknown as ChannelStory

const OWN = loan('10', MADE_S - 27, null)
const MISSING = ['missing 1 x bafy ', '/api/loan/FIL/10 filPayback.']
const AT_7 = { loan_type: 'FILERC20', loan_id: '7', role: 'payback', strength: 1 } as const
const cases: [what: string, loans: LoansTable[], channel: Partial<ChannelRow>, excused: string[]][] = [
  ['nobody else waits: it has to be shown', [OWN], {}, []],
  ['another had ended: it has to be shown', [OWN, loan('7', MADE_S - 600, MADE_S - 27)], {}, []],
  ['two wait: nobody’s', [OWN, loan('7', MADE_S - 600, null)], {}, MISSING],
  ['two wait, but a voucher says which', [OWN, loan('7', 0, null)], { secret_hashes: [HASH] }, []],
  ['two wait, but a statement says which', [OWN, loan('7', 0, null)], { stated_loans: ['10'] }, []],
  ['two wait: the other’s is wrong', [OWN, loan('7', MADE_S - 600, null)], AT_7, []],
  [
    'its own had ended: the other’s',
    [loan('10', MADE_S - 600, MADE_S - 1), loan('7', MADE_S - 60, null)],
    AT_7,
    [...MISSING, 'too many 1 x bafy ', '/api/loan/FIL/7 filPayback.'],
  ],
  [
    'its own had ended: nobody’s is wrong',
    [loan('10', MADE_S - 600, MADE_S - 1), loan('7', MADE_S - 60, null)],
    {},
    [],
  ],
]

void t.test('a channel that a reorg brought into another loan’s time is told from a lost one', async (t) => {
  const { db } = await testDatabase(t)
  for (const [what, loans, channel, excused] of cases) {
    await db.insertInto('projection.loans').values(loans).execute()
    await db
      .insertInto('projection.channels')
      .values({ ...CHANNEL, ...channel })
      .execute()
    t.same(await contested(db, [STORY]), excused, what)
    await db.deleteFrom('projection.loans').execute()
    await db.deleteFrom('projection.channels').execute()
  }
})
