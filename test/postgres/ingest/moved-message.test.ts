import t from 'tap'
import { raiseEpoch } from '../../../indexer/event-log/chain-position.ts'
import { ingestStep } from '../../../indexer/ingest/ingest-step.ts'
import { replay } from '../../../indexer/ingest/replay.ts'
import { digestReadModel } from '../../../indexer/projections/digest.store.ts'
import type { FilecoinMessageEvent } from '../../../shared/events/filecoin-event.ts'
import { testDatabase } from '../../helpers/database.ts'
import { collectChannel, fundChannel, makeChannel, settleChannel } from '../../helpers/channel-events.ts'
import { EVM, FILECOIN, ingestLedger } from '../../helpers/ingest-ledger.ts'
import { channelAddress, person, tellStories } from '../../helpers/two-chain-stories.ts'

const HEIGHT = 4_000_000

/** Two open offers with a channel each; in the other branch the channels have each other's IDs. */
function branches(): {
  evm: ReturnType<typeof tellStories>['evm']
  first: FilecoinMessageEvent[]
  second: FilecoinMessageEvent[]
} {
  const { evm, filecoin } = tellStories(5, 2, { market: 'erc20', end: 'cancelled', handedIn: 0 })
  const made = filecoin.filter((event) => event.kind === 'CreateChannel')
  const [a, b] = made
  if (a === undefined || b === undefined) throw new Error('no channels')
  const settle = settleChannel({ height: HEIGHT, to: a.channelId, cid: 'cid-settle', sender: a.from })
  const swapped = [
    { ...a, channelId: b.channelId },
    { ...b, channelId: a.channelId },
  ]
  return {
    evm: evm.filter(({ kind }) => kind === 'CreateLoanOffer'),
    first: [...made, settle],
    second: [...swapped, settle],
  }
}

void t.test(
  'a message that another branch sends to another channel goes with it, and what follows is written',
  async (t) => {
    const { db } = await testDatabase(t)
    const { evm, first, second } = branches()
    await ingestLedger(db, EVM, evm)
    const epoch = await raiseEpoch(db, FILECOIN.network, 'writer', { startNumber: 0, watched: {} })
    const write = async (step: Parameters<typeof ingestStep>[3]): Promise<void> => {
      t.equal(await ingestStep(db, FILECOIN, epoch, step), 'applied')
    }
    const block = (number: number, branch: string) => ({
      number,
      hash: `${number}-${branch}`,
      parentHash: '',
      timeS: 1,
    })
    const root = block(1, 'root')
    const [one, other] = [block(HEIGHT, 'one'), block(HEIGHT, 'other')]
    await write({ type: 'blocks', from: 0, after: null, to: root, headers: [root], events: [], evidence: [] })
    await write({
      type: 'blocks',
      from: 2,
      after: root,
      to: one,
      headers: [one],
      events: first,
      evidence: [],
    })
    await write({
      type: 'reorg',
      ancestor: root,
      replaces: one,
      to: other,
      headers: [other],
      events: second,
      evidence: [],
    })
    const settleOf = async (): Promise<unknown> =>
      db
        .selectFrom('projection.activity')
        .select(['channel', 'loan_id'])
        .where('tx_hash', '=', 'cid-settle')
        .execute()
    const b = second[1]
    if (b?.kind !== 'CreateChannel') throw new Error('no channel')
    const [row] = await db
      .selectFrom('projection.channels')
      .selectAll()
      .where('robust', '=', b.channel)
      .execute()
    t.same(await settleOf(), [{ channel: b.channel, loan_id: row?.loan_id }])
    const next = block(HEIGHT + 1, 'other')
    const events = [
      fundChannel({
        height: HEIGHT + 1,
        to: first[0] && 'channel' in first[0] ? (first[0].channel ?? '') : '',
      }),
      collectChannel({ height: HEIGHT + 1, to: b.channel, sender: b.from, index: 1 }),
    ]
    await write({
      type: 'blocks',
      from: HEIGHT + 1,
      after: other,
      to: next,
      headers: [next],
      events,
      evidence: [],
    })
    t.same(
      await settleOf(),
      [{ channel: b.channel, loan_id: row?.loan_id }],
      'the other channel’s traffic takes nothing away',
    )
    const digest = await digestReadModel(db)
    await replay(db, { restart: true, signal: new AbortController().signal, onProgress: () => undefined })
    t.same(await digestReadModel(db), digest)
  },
)

void t.test(
  'a channel that a reorg takes away for good leaves nothing behind, though its loan stays',
  async (t) => {
    const { db } = await testDatabase(t)
    const { evm, filecoin } = tellStories(11, 3, { market: 'erc20', end: 'repaid', handedIn: 0 })
    const made = filecoin.filter((event) => event.kind === 'CreateChannel')
    const [stays, goes, moves] = made
    if (stays === undefined || goes === undefined || moves === undefined) throw new Error('no channels')
    await ingestLedger(
      db,
      EVM,
      evm.filter(({ kind }) => kind === 'CreateLoanOffer'),
    )
    const epoch = await raiseEpoch(db, FILECOIN.network, 'writer', { startNumber: 0, watched: {} })
    const root = { number: 1, hash: 'root', parentHash: '', timeS: 1 }
    const [one, other] = ['one', 'other'].map((hash) => ({
      ...root,
      number: HEIGHT,
      hash,
      parentHash: 'root',
    }))
    if (one === undefined || other === undefined) throw new Error('no blocks')
    for (const step of [
      { type: 'blocks', from: 0, after: null, to: root, headers: [root], events: [] },
      { type: 'blocks', from: 2, after: root, to: one, headers: [one], events: made },
      { type: 'reorg', ancestor: root, replaces: one, to: other, headers: [other], events: [stays, moves] },
    ] as const) {
      t.equal(
        await ingestStep(db, FILECOIN, epoch, {
          ...step,
          headers: [...step.headers],
          events: [...step.events],
          evidence: [],
        }),
        'applied',
      )
    }
    const records = await db
      .selectFrom('projection.activity')
      .select('tx_hash')
      .where('network', '=', FILECOIN.network)
      .orderBy('id')
      .execute()
    t.same(
      records.map(({ tx_hash }) => tx_hash),
      [stays.txHash, moves.txHash],
    )
    const channels = await db.selectFrom('projection.channels').select('robust').orderBy('id').execute()
    t.same(
      channels.map(({ robust }) => robust),
      [stays.channel, moves.channel],
    )
  },
)

void t.test('a tipset full of creations is one step like any other', { timeout: 120_000 }, async (t) => {
  const { db } = await testDatabase(t)
  const owner = person('owner of many')
  const many = Array.from({ length: 14_000 }, (_, index) =>
    makeChannel({
      height: 10,
      index,
      channel: channelAddress(`many ${index}`),
      channelId: `t0${5_000_000 + index}`,
      from: owner,
      recipient: person('recipient of many'),
    }),
  )
  await ingestLedger(db, FILECOIN, many)
  const { count } = await db
    .selectFrom('projection.channels')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  t.equal(count, 14_000)
})
