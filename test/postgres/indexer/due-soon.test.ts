import { sql } from 'kysely'
import t from 'tap'
import { raiseEpoch } from '../../../indexer/event-log/chain-position.ts'
import { ingestStep } from '../../../indexer/ingest/ingest-step.ts'
import { openLoans } from '../../../indexer/webhooks/due-soon.store.ts'
import { runDueSoon, sweep } from '../../../indexer/webhooks/run-due-soon.ts'
import type { Webhook } from '../../../shared/config/webhooks.ts'
import { connect, type Db } from '../../../shared/db/connect.ts'
import type { ChainEvent } from '../../../shared/events/chain-event.ts'
import type { BlockHeader } from '../../../shared/events/chain-step.ts'
import type { Logger } from '../../../shared/log.ts'
import { testDatabase } from '../../helpers/database.ts'
import { EVM, ingestStories } from '../../helpers/ingest-ledger.ts'
import { HOUR_S, storyUntilNow } from '../../helpers/loans-due-soon.ts'
import { eventually } from '../../helpers/programs.ts'
import { rowsReadSoFar } from '../../helpers/query-plan.ts'
import { tellStories } from '../../helpers/two-chain-stories.ts'

const SIGNAL = new AbortController().signal

function asking(name: string, dueSoonHours: number, filters: Partial<Webhook> = {}) {
  return {
    ...{ name, url: 'http://back.example', secret: '', from: 'now' as const },
    ...filters,
    dueSoonHours,
  }
}

interface Due {
  webhook: string
  id: string
  data: { action: string; actor: string; loanId: string; chain: string; notAfter: Record<string, unknown> }
}

async function messages(db: Db): Promise<Due[]> {
  const rows = await db
    .selectFrom('ledger.webhook_outbox')
    .selectAll()
    .orderBy('position')
    .orderBy('id')
    .execute()
  return rows.map(({ webhook, id, body }) => ({
    webhook,
    id,
    ...(JSON.parse(body) as { data: Due['data'] }),
  }))
}

/** Writes a branch of the EVM chain, which replaces all above the first block of one that was there. */
async function writeBranch(
  db: Db,
  branch: string,
  events: ChainEvent[],
  replaces?: ChainEvent[],
): Promise<string> {
  const at = (event: ChainEvent | undefined, name: string): BlockHeader => {
    if (event === undefined) throw new Error('no event')
    const { blockNumber: number, blockHash, blockTimeS: timeS } = event
    return { number, hash: `${blockHash}-${name}`, parentHash: '', timeS }
  }
  const epoch = await raiseEpoch(db, EVM.network, 'writer', { startNumber: 0, watched: {} })
  const stretch = (all: ChainEvent[]) => ({
    to: at(all.at(-1), branch),
    headers: all.map((event) => at(event, branch)),
    events: all.map((event) => ({ ...event, blockHash: at(event, branch).hash })),
    evidence: [],
  })
  return ingestStep(
    db,
    EVM,
    epoch,
    replaces === undefined
      ? { type: 'blocks', from: 0, after: null, ...stretch(events) }
      : {
          ...{
            type: 'reorg',
            ancestor: at(events[0], 'a'),
            replaces: at(replaces.at(-1), replacedBy.get(branch) ?? ''),
          },
          ...stretch(events.slice(1)),
        },
  )
}
const replacedBy = new Map([
  ['b', 'a'],
  ['c', 'b'],
])

void t.test('an action that ends within the hours is written once for each deadline', async (t) => {
  const { db } = await testDatabase(t)
  const chains = storyUntilNow('erc20', { evm: 3, filecoin: 1, vouchers: 2 }, 2 * HOUR_S)
  await ingestStories(db, { ...chains, evm: [] })
  t.equal(await writeBranch(db, 'a', chains.evm), 'applied')
  const webhooks = [
    asking('all', 3),
    asking('shorter', 1),
    asking('other-market', 3, { loanTypes: ['FILERC20'] }),
    asking('other-chain', 3, { networks: ['filecoin:testnet'] }),
  ]
  await sweep(db, webhooks, SIGNAL)
  const [first, ...others] = await messages(db)
  t.same(others, [])
  const expiry = chains.evm.flatMap((event) => (event.kind === 'ApproveRequest' ? event.terms.values : []))[0]
  t.match(first, {
    webhook: 'all',
    id: /^due-[0-9a-f]{32}$/,
    type: 'action.due',
    timestamp: /Z$/,
    data: {
      ...{ loanType: 'ERC20FIL', loanId: '1', action: 'payback', actor: 'borrower', chain: EVM.network },
      notBefore: null,
      notAfter: { time: new Date(Number(expiry?.['loanExpiration']) * 1000).toISOString() },
      position: Number,
    },
  })
  await sweep(db, webhooks, SIGNAL)
  await db.deleteFrom('ledger.webhook_outbox').execute()
  await sweep(db, webhooks, SIGNAL)
  t.same(await messages(db), [], 'neither while it waits nor after it was taken')

  const later = storyUntilNow('erc20', { evm: 3, filecoin: 1, vouchers: 2 }, 2.5 * HOUR_S)
  t.equal(await writeBranch(db, 'b', later.evm, chains.evm), 'applied')
  await sweep(db, webhooks, SIGNAL)
  const second = await messages(db)
  t.equal(second.length, 1, 'another deadline is another message')
  t.not(second[0]?.id, first?.id)
  t.equal(await writeBranch(db, 'c', chains.evm, later.evm), 'applied')
  await sweep(db, webhooks, SIGNAL)
  t.equal((await messages(db)).length, 1, 'the old branch brings nothing new')
})

void t.test('a loan that is over for the contract, whose channel settles', async (t) => {
  const { db } = await testDatabase(t)
  const chains = storyUntilNow('erc20', { evm: 5, filecoin: 5, vouchers: 2 }, HOUR_S)
  const kinds = ['CreateChannel', 'SettleChannel']
  const filecoin = chains.filecoin.filter(({ kind }) => kinds.includes(kind))
  await ingestStories(db, { ...chains, filecoin })
  await sweep(db, [asking('late', 11), asking('soon', 13)], SIGNAL)
  const due = await messages(db)
  const told = due.map(({ webhook, data: { action, actor } }) => `${webhook} ${action} ${actor}`)
  t.same(told.sort(), ['soon redeemSeizeVoucher lender', 'soon redeemUnlockVoucher borrower'])
  const settled =
    filecoin.flatMap((event) => (event.kind === 'SettleChannel' ? event.blockNumber : []))[0] ?? 0
  for (const { data } of due) t.equal(data.notAfter['epoch'], settled + 1440 - 1)
})

void t.test('deadlines that passed are not sent, also while an index is behind', async (t) => {
  const { db } = await testDatabase(t)
  const chains = storyUntilNow('erc20', { evm: 3, filecoin: 1, vouchers: 2 }, -HOUR_S)
  const evm = chains.evm.map((event) => ({ ...event, blockTimeS: event.blockTimeS - 2 * HOUR_S }))
  await ingestStories(db, { ...chains, evm })
  await sweep(db, [asking('all', 720)], SIGNAL)
  t.same(await messages(db), [])
})

void t.test('a receiver that is away gets it once there is room', async (t) => {
  const { db } = await testDatabase(t)
  await ingestStories(db, storyUntilNow('erc20', { evm: 3, filecoin: 1, vouchers: 2 }, HOUR_S))
  await sql`insert into ledger.webhook_outbox (webhook, id, position, body)
    select 'all', n::text, n, '{}' from generate_series(1, 1000) n`.execute(db)
  await sweep(db, [asking('all', 3)], SIGNAL)
  t.equal((await messages(db)).length, 1000)
  await sql`delete from ledger.webhook_outbox`.execute(db)
  await sweep(db, [asking('all', 3)], SIGNAL)
  t.equal((await messages(db)).length, 1)
})

void t.test('one warning says that sweeps are too slow for the hours of a webhook', async (t) => {
  const { db, url: databaseUrl } = await testDatabase(t)
  const lines: unknown[] = []
  const log = { warn: (...values: unknown[]) => lines.push(values) } as unknown as Logger
  for (const [hours, warnings] of [
    [1, []],
    [1e-9, [[{ dueSoonHours: 1e-9, cycleHours: Number }, /^some deadlines are missed/]]],
  ] as const) {
    const stopping = new AbortController()
    const pace = { sweepEveryMs: 1, lookEveryMs: 1 }
    const webhooks = [asking('slow', hours), asking('other', 720)]
    const running = runDueSoon({ webhooks, db, databaseUrl, log, signal: stopping.signal, pace })
    const swept = async (): Promise<void> => {
      await sql`insert into ledger.webhook_deadlines values ('slow', 'old', now() - interval '25 hours')`.execute(
        db,
      )
      await eventually('a sweep was made', async () => {
        const left = await db.selectFrom('ledger.webhook_deadlines').select('id').execute()
        return left.length === 0
      })
    }
    for (let sweeps = 0; sweeps < 3; sweeps += 1) await swept()
    stopping.abort()
    await running
    t.match(lines, warnings)
    t.equal(lines.length, warnings.length)
  }
})

void t.test('a deadline that passed a day ago is forgotten', async (t) => {
  const { db } = await testDatabase(t)
  await sql`insert into ledger.webhook_deadlines (webhook, id, deadline) values
    ('one', 'old', now() - interval '25 hours'), ('one', 'new', now() - interval '23 hours')`.execute(db)
  await sweep(db, [asking('one', 3)], SIGNAL)
  const left = await db.selectFrom('ledger.webhook_deadlines').select('id').execute()
  t.same(left, [{ id: 'new' }])
})

void t.test('a sweep finds every open loan, page by page, and reads no closed one', async (t) => {
  const { db, url } = await testDatabase(t)
  await ingestStories(db, tellStories(5, 12, { handedIn: 1, rivals: true }))
  const found = new Set<string>()
  for await (const { loanType, loanId } of openLoans(db)) found.add(`${loanType}/${loanId}`)
  const { rows: open } = await sql<{ loan: string }>`
    select loan_type || '/' || loan_id as loan from projection.loans as loan
    where (loan_type = 'ERC20FIL' and evm_part->>'state' in ('1', '2', '3')) or exists (
      select from projection.channels as channel
      where channel.loan_type = loan.loan_type and channel.loan_id = loan.loan_id and channel.shown
        and channel.state->>'collection' is null)`.execute(db)
  t.ok(open.length > 2)
  t.same([...found].sort(), open.map(({ loan }) => loan).sort())

  await sql`insert into projection.loans (loan_type, loan_id, id, network, evm_part, last_block, last_log_index, created_at, updated_at)
    select 'ERC20FIL', n::text, n, 'evm:31337', json_build_object('state', case when n % 20 = 0 then '2' else '5' end), 1, 0, now(), now()
    from generate_series(1000001, 1020000) n`.execute(db)
  await sql`insert into projection.loan_lists (list, id, since)
    select 'ERC20FIL/' || case when n % 20 = 0 then '2' else '5' end, n, 1 from generate_series(1000001, 1020000) n`.execute(
    db,
  )
  await sql`insert into projection.channels (network, robust, id, state, addresses, parties, secret_hashes, stated_loans, created_s,
      loan_type, loan_id, role, strength, claimants, shown, created_at, updated_at, since)
    select 'filecoin:testnet', 'closed ' || n, n, '{"collection": {}}', '{}', '{}', '{}', '{}', 0,
      'ERC20FIL', n::text, 'collateral', 4, '{}', true, now(), now(), 1
    from generate_series(1000001, 1020000) n`.execute(db)
  await sql`analyze projection.loans, projection.loan_lists, projection.channels`.execute(db)
  const session = connect(url, { name: 'loan-activity sweep', max: 1 })
  t.teardown(() => session.destroy())
  const tables = ['loans', 'loan_lists', 'channels'] as const
  const read = (): Promise<number[]> => Promise.all(tables.map((table) => rowsReadSoFar(session, db, table)))
  const before = await read()
  let loans = 0
  for await (const _ of openLoans(session)) loans += 1
  const after = await read()
  t.ok(loans >= 1000 + open.length, `${loans} loans`)
  for (const [index, table] of tables.entries()) {
    const rows = (after[index] ?? 0) - (before[index] ?? 0)
    t.ok(rows <= 2 * loans, `${rows} rows of ${table} were read for ${loans} open loans`)
  }
})
